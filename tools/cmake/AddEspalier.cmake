# One line per library or tool of the compiler.

# What every compiler target is built with, and what programs that link the
# installed libraries need of it: not the warnings. LLVM is built without
# exceptions and with run-time type information.
add_library(espalier_compiler_options INTERFACE)
target_include_directories(espalier_compiler_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(espalier_compiler_options SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(ESPALIER_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(espalier_compiler_options INTERFACE
  $<BUILD_INTERFACE:-fno-exceptions>
  $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra> $<BUILD_INTERFACE:-Werror>
  $<BUILD_INTERFACE:-Wno-unused-parameter>
  ${ESPALIER_LLVM_DEFINITIONS})
target_link_libraries(espalier_compiler_options INTERFACE MLIR LLVM)
set_target_properties(espalier_compiler_options PROPERTIES
  EXPORT_NAME CompilerOptions)
install(TARGETS espalier_compiler_options EXPORT EspalierTargets)

# espalier_add_library(EspalierNN NN.cpp ... [LINK EspalierX ...] [DEPENDS t ...])
# The package calls it Espalier::NN.
function(espalier_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC espalier_compiler_options ${ARG_LINK})
  add_dependencies(${name} espalier-headers ${ARG_DEPENDS})
  string(REGEX REPLACE "^Espalier" "" export_name ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${export_name})
  install(TARGETS ${name} EXPORT EspalierTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# espalier_add_tool(espalier-opt espalier-opt.cpp ... [LINK EspalierX ...])
function(espalier_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE espalier_compiler_options ${ARG_LINK})
  add_dependencies(${name} espalier-headers)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# espalier_add_dialect(NN nn) generates headers and docs from NN/IR/*.td
function(espalier_add_dialect name mnemonic)
  set(LLVM_TARGET_DEFINITIONS ${name}Ops.td)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}RowOps.td)
    set(LLVM_TARGET_DEFINITIONS ${name}RowOps.td)
  endif()
  mlir_tablegen(${name}Ops.h.inc -gen-op-decls -dialect=${mnemonic})
  mlir_tablegen(${name}Ops.cpp.inc -gen-op-defs -dialect=${mnemonic})
  mlir_tablegen(${name}Types.h.inc -gen-typedef-decls -typedefs-dialect=${mnemonic})
  mlir_tablegen(${name}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${mnemonic})
  mlir_tablegen(${name}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${mnemonic})
  mlir_tablegen(${name}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${mnemonic})
  mlir_tablegen(${name}Dialect.h.inc -gen-dialect-decls -dialect=${mnemonic})
  mlir_tablegen(${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${mnemonic})
  mlir_tablegen(${name}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${name}Enums.cpp.inc -gen-enum-defs)
  add_public_tablegen_target(Espalier${name}IncGen)
  add_dependencies(espalier-headers Espalier${name}IncGen)
  espalier_add_doc(${LLVM_TARGET_DEFINITIONS} dialects/${mnemonic}
                   -gen-dialect-doc -dialect=${mnemonic})
endfunction()

# espalier_add_passes(Passes.td Vertex) generates Passes.h.inc and docs
function(espalier_add_passes name)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${name})
  add_public_tablegen_target(Espalier${name}PassesIncGen)
  add_dependencies(espalier-headers Espalier${name}PassesIncGen)
  espalier_add_doc(Passes.td passes/${name} -gen-pass-doc)
endfunction()

# Reference pages, in the build tree; test/Docs compares docs/reference to them.
function(espalier_add_doc td page)
  string(REPLACE "/" "-" target "espalier-doc-${page}")
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(output ${PROJECT_BINARY_DIR}/docs/reference/${page}.md)
  get_filename_component(folder ${output} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  tablegen(MLIR ${target}.inc ${ARGN} "-I${MLIR_MAIN_SRC_DIR}" "-I${MLIR_INCLUDE_DIR}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_BINARY_DIR}/${target}.inc ${output}
    DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${target}.inc)
  add_custom_target(${target} DEPENDS ${output})
  add_dependencies(espalier-docs ${target})
endfunction()

add_custom_target(espalier-headers)
add_custom_target(espalier-docs ALL)
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/include)
