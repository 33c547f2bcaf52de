"""The table of stable codes: `docs/errors.toml` to `reference/errors.md`, compared with the source (S.10)."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from site_tools.gen_text import MARK, front, glossed
from site_tools.layout import CHECKPOINTS, LANGS, PACKAGES, Fault

if TYPE_CHECKING:
    from site_tools.layout import Lang, Site

DATA = "docs/errors.toml"
LOOKS_LIKE_A_CODE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


@dataclass(frozen=True, slots=True)
class Code:
    """One stable code of one owner."""

    owner: str
    code: str
    checkpoint: str
    package: str
    en: str
    vi: str


def read(site: Site) -> tuple[list[Code], frozenset[str]]:
    """The codes in order, and the words that only look like codes."""
    data = cast("dict[str, list[object]]", tomllib.loads((site.root / DATA).read_text("utf-8")))
    rows = cast("list[dict[str, str]]", data["codes"])
    return [Code(**row) for row in rows], frozenset(map(str, data["not_codes"]))


def codes(site: Site) -> list[Fault]:
    """A code in source but not in the table is a fault, and the reverse; so is a double for one owner."""
    table, others = read(site)
    faults: list[Fault] = []
    listed = {code.code for code in table}
    for name, folder in PACKAGES.items():
        strings = source_strings(site, folder)
        for text, place in sorted(strings.items()):
            if LOOKS_LIKE_A_CODE.fullmatch(text) and text not in listed and text not in others:
                faults.append(
                    Fault("error codes", *place, f"{text} is in the source of {name} but not in {DATA}")
                )
        for code in table:
            if code.package == name and code.code not in strings:
                faults.append(
                    Fault("error codes", DATA, 0, f"{code.owner}.{code.code} is not in the source of {name}")
                )
    seen: set[tuple[str, str]] = set()
    for code in table:
        if (code.owner, code.code) in seen:
            faults.append(Fault("error codes", DATA, 0, f"{code.owner}.{code.code} is listed twice"))
        seen.add((code.owner, code.code))
    return faults


def source_strings(site: Site, folder: str) -> dict[str, tuple[str, int]]:
    """Every string constant of a package's source but docstrings, with its first place."""
    found: dict[str, tuple[str, int]] = {}
    for path in sorted((site.root / "packages" / folder / "src").rglob("*.py")):
        if "/course/" in path.as_posix():
            continue
        name = path.relative_to(site.root).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.setdefault(node.value, (name, node.lineno))
    return found


HEAD: dict[Lang, tuple[str, str, str, tuple[str, str, str, str]]] = {
    "en": (
        "Error codes",
        "Every stable code of every package and of the command: what it means and which checkpoint "
        "builds it.",
        "Branch on a code, never on a text: codes are part of the interface and stay, wording may "
        "change. One code may "
        "have two owners, with a meaning each; the anchor of a row is `Owner.CODE`.",
        ("code", "meaning", "package", "checkpoint"),
    ),
    "vi": (
        "Mã lỗi",
        "Mọi mã ổn định của từng gói và của dòng lệnh: nghĩa của mã và checkpoint dựng nên nó.",
        "Hãy rẽ nhánh theo mã, đừng theo câu chữ: mã là một phần của giao diện và được giữ nguyên, câu "
        "chữ có thể đổi. Một mã "
        "có thể thuộc hai chủ, mỗi chủ một nghĩa; neo của mỗi hàng là `Owner.CODE`.",
        ("mã", "nghĩa", "gói", "checkpoint"),
    ),
}
WHERE: dict[str, tuple[str, str]] = {
    "TranscriptIssue": (
        "Findings of `validate_transcript`, which never raises. `RunError.INVALID_TRANSCRIPT` is the "
        "loop's way to report them.",
        "Những phát hiện của `validate_transcript`, hàm không bao giờ ném lỗi. "
        "`RunError.INVALID_TRANSCRIPT` là cách vòng "
        "lặp Agent báo lại chúng.",
    ),
    "ScriptedModelError": (
        "Raised by both channels of a scripted model's stream, and by `assert_complete()`.",
        "Được ném ở cả hai đường của luồng từ model theo kịch bản, và bởi `assert_complete()`.",
    ),
    "FixtureProviderError": (
        "Raised when a fixture or a record source breaks the rules of schema version 1.",
        "Được ném khi fixture hoặc nguồn record phạm luật của schema phiên bản 1.",
    ),
    "dialects": (
        "Values of `provider_code` that the dialects make themselves; all others are the provider's own.",
        "Những giá trị của `provider_code` do các dialect tự đặt; mọi giá trị khác là của provider.",
    ),
    "ToolContractError": (
        "Raised at once by definitions, registries and calls that are wrong in themselves.",
        "Được ném ngay khi định nghĩa, registry hoặc lời gọi tự nó đã sai.",
    ),
    "NonRecoverableToolError": (
        "Raised by a tool on purpose. The loop fails the run; it is never turned into a result.",
        "Do tool cố ý ném ra. Vòng lặp Agent kết thúc lượt chạy; lỗi này không bao giờ thành result.",
    ),
    "ToolResult": (
        "Found inside the content of a tool result with `isError`: the model sees them and may try again.",
        "Nằm trong content của result có `isError`: model thấy chúng và có thể thử lại.",
    ),
    "RunError": (
        "The `code` of the error in a `FailedRun`. Nothing is raised; read `run.error.code`.",
        "Là `code` của lỗi trong `FailedRun`. Không gì bị ném ra; hãy đọc `run.error.code`.",
    ),
    "kickwheel": (
        "The `error.code` of the command's JSON. Exit 2 means refused and nothing changed, exit 3 means "
        "the environment.",
        "Là `error.code` trong JSON của dòng lệnh. Mã thoát 2: bị từ chối, chưa gì thay đổi; mã thoát "
        "3: do môi trường.",
    ),
}


def pages(site: Site) -> dict[str, str]:
    """`reference/errors.md` in both languages."""
    out: dict[str, str] = {}
    english = ""
    table, _ = read(site)
    for lang in LANGS:
        title, description, intro, columns = HEAD[lang]
        body = f"\n# {title}\n\n{MARK}\n{intro}\n"
        for owner in dict.fromkeys(code.owner for code in table):
            where = WHERE[owner][lang == "vi"]
            body += f"\n## {owner} {{#{owner}}}\n\n{where}\n\n"
            body += f"| {' | '.join(columns)} |\n| --- | --- | --- | --- |\n"
            body += "".join(_row(code, lang) for code in table if code.owner == owner)
        if lang == "vi":
            body = glossed(body, site.glossary.terms)
            head = front(title, description, source_sha256=english)
        else:
            head = front(title, description)
            english = _digest(body)
        out[f"docs/{lang}/reference/errors.md"] = head.rstrip("\n") + "\n" + body
    return out


def _row(code: Code, lang: Lang) -> str:
    anchor = f"{code.owner}.{code.code}"
    meaning = code.vi if lang == "vi" else code.en
    page = f"../course/{code.checkpoint}-{CHECKPOINTS[code.checkpoint]}.md"
    link = f"[{code.checkpoint}]({page})"
    return f'| <span id="{anchor}">`{code.code}`</span> | {meaning} | `{code.package}` | {link} |\n'


def _digest(body: str) -> str:
    from hashlib import sha256

    return sha256(body.encode("utf-8")).hexdigest()
