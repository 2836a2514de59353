# Finds Debian's LLVM/MLIR and checks its version, with an error that helps.

set(ESPALIER_LLVM_MAJOR 22)

find_program(ESPALIER_LLVM_CONFIG llvm-config-${ESPALIER_LLVM_MAJOR})
if(ESPALIER_LLVM_CONFIG AND NOT MLIR_DIR)
  execute_process(COMMAND ${ESPALIER_LLVM_CONFIG} --prefix
                  OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(MLIR_DIR ${prefix}/lib/cmake/mlir CACHE PATH "MLIR's CMake package")
endif()

find_package(MLIR CONFIG QUIET)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR
    "MLIR ${ESPALIER_LLVM_MAJOR} was not found. On Debian:\n"
    "  apt-get install libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools clang-22 lld-22 liblld-22-dev\n"
    "or run tools/setup.sh. An MLIR elsewhere: -DMLIR_DIR=PREFIX/lib/cmake/mlir.\n"
    "The runtime alone needs none: cmake -S runtime, or -DESPALIER_BUILD_COMPILER=OFF.")
endif()
if(NOT LLVM_VERSION_MAJOR EQUAL ESPALIER_LLVM_MAJOR)
  message(FATAL_ERROR
    "Espalier is written for LLVM/MLIR ${ESPALIER_LLVM_MAJOR}, but ${MLIR_DIR} is "
    "version ${LLVM_PACKAGE_VERSION}. Install libmlir-22-dev, or set MLIR_DIR.")
endif()

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
