# The lit suite of the compiler. Settings:
#
#   --param verify-roundtrip=1, or ESPALIER_VERIFY_ROUNDTRIP=1 in the
#   environment: every espalier-opt call also checks that what it parsed, printed
#   and parsed again is the same.

import os

import lit.formats

config.name = "espalier"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "Inputs", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.espalier_build_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [config.espalier_tools_dir, config.llvm_tools_dir, os.environ["PATH"]]
)
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"

opt = "espalier-opt"
if lit_config.params.get(
    "verify-roundtrip", os.environ.get("ESPALIER_VERIFY_ROUNDTRIP", "")
) not in ("", "0"):
    opt += " --verify-roundtrip"
config.substitutions.append((r"\bespalier-opt\b", opt))
config.substitutions.append((r"%python\b", config.python))
config.substitutions.append((r"%source_dir\b", config.espalier_source_dir))
config.substitutions.append((r"%build_dir\b", config.espalier_build_dir))

# Tools that a build may lack.
for tool in ("espalier-compile", "espalier-interpret", "espalier-plan", "espalier-run"):
    if os.path.exists(os.path.join(config.espalier_tools_dir, tool)):
        config.available_features.add(tool)
