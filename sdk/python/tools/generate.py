"""Writes src/transcriptd/v1 from the protos: messages with type stubs, imports between them relative, and the names of all of them.

generate.py OUT: writes the package into the folder OUT.
"""

import pathlib
import re
import subprocess
import sys

PROTO = pathlib.Path(__file__).resolve().parents[3] / "proto"
HEAD = '"""The messages and enums of the package transcript.v1, generated from its protos. Their fields are described there."""\n'


def compile_protos(out: pathlib.Path) -> list[str]:
    """Runs protoc, and gives the names of the modules."""
    protos = sorted(path.relative_to(PROTO).as_posix() for path in PROTO.glob("transcript/v1/*.proto"))
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--python_out={out}", f"--pyi_out={out}", *protos]
    subprocess.run(protoc, check=True)
    modules = []
    for path in sorted((out / "transcript" / "v1").iterdir()):
        text = re.sub(r"^from transcript\.v1 import ", "from . import ", path.read_text(), flags=re.MULTILINE)
        # The name under which pickle finds the classes again.
        text = text.replace("'transcript.v1.", "'transcriptd.v1.")
        (out / path.name).write_text(text)
        path.unlink()
        if path.suffix == ".py":
            modules.append(path.stem)
    (out / "transcript" / "v1").rmdir()
    (out / "transcript").rmdir()
    return modules


def public_names(out: pathlib.Path, module: str) -> list[str]:
    """The top-level messages, enums and enum values that a stub declares."""
    stub = (out / f"{module}.pyi").read_text()
    patterns = r"^class (\w+)\(", r"^([A-Z][A-Z_0-9]+): (?!_descriptor)"
    return [name for pattern in patterns for name in re.findall(pattern, stub, flags=re.MULTILINE)]


def main(out: pathlib.Path) -> None:
    for path in out.glob("*.py*"):
        path.unlink()
    lines, exported = [HEAD], []
    for module in compile_protos(out):
        names = sorted(public_names(out, module))
        exported += names
        lines.append(f"from .{module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n")
    lines.append("\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(exported)) + "]\n")
    (out / "__init__.py").write_text("".join(lines))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
