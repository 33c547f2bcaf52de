"""The focused tests inside the package are copies: they run from `tests/checkpoints`, not from here."""

collect_ignore_glob = ["src/*"]
