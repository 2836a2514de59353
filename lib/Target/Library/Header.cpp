//===- Header.cpp - C headers of compiled models ----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Target/Library.h"

#include "espalier/Dialect/Model/IR/Model.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace espalier;

/// "256xf32, a row a vertex".
static std::string describe(model::BufferOp buffer) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto row = cast<RankedTensorType>(buffer.getRow());
  for (int64_t extent : row.getShape())
    stream << extent << "x";
  stream << row.getElementType();
  if (buffer.getRows() == model::Rows::caller)
    stream << ", a row a vertex";
  else if (buffer.getRows() == model::Rows::structures)
    stream << ", a row a structure";
  return text;
}

std::string espalier::emitHeader(ModuleOp module, StringRef name) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  std::string identifier = getIdentifier(name);
  std::string guard = StringRef("ESPALIER_MODEL_" + identifier + "_H").upper();
  stream << "/* Model " << name << ". Written by espalier-compile "
         << ESPALIER_VERSION << ".\n *\n"
         << " * Link this model's library and the runtime, then:\n"
         << " *   espalier_module_from_model(espalier_model_" << identifier
         << "(), &module);\n";
  for (model::EntryOp entry : module.getOps<model::EntryOp>()) {
    stream << " *\n * Entry " << entry.getSymName() << "\n";
    for (auto [number, graph] : llvm::enumerate(entry.getGraphs())) {
      stream << " *   structures " << cast<StringAttr>(graph).getValue();
      if (entry.getTypes() && (*entry.getTypes())[number] > 1)
        stream << ", their field "
               << cast<StringAttr>((*entry.getTypeFields())[number]).getValue()
               << ": the type of each vertex, from 0 to "
               << (*entry.getTypes())[number] - 1;
      stream << "\n";
    }
    for (auto [kind, word] :
         {std::pair(model::BufferKind::input, "input"),
          std::pair(model::BufferKind::parameter, "parameter"),
          std::pair(model::BufferKind::output, "output")})
      for (model::BufferOp buffer : entry.getBody().getOps<model::BufferOp>())
        if (buffer.getKind() == kind)
          stream << " *   " << word << " " << buffer.getName() << ": "
                 << describe(buffer) << "\n";
  }
  stream << " */\n#ifndef " << guard << "\n#define " << guard << "\n\n"
         << "#include \"espalier/abi.h\"\n\n"
         << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
         << "const espalier_model *espalier_model_" << identifier
         << "(void);\n\n"
         << "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
  return text;
}
