"""One module a verb; each has `run(context, options) -> Outcome`."""
