// A driver of its own over the installed compiler.
#include <espalier/InitAll.h>

#include <mlir/Tools/mlir-opt/MlirOptMain.h>

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  espalier::registerAllDialects(registry);
  espalier::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "my driver\n", registry));
}
