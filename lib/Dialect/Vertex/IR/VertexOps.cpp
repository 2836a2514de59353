//===- VertexOps.cpp - Syntax and verifiers of what users write -----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Vertex/IR/Vertex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

//===----------------------------------------------------------------------===//
// func: syntax
//===----------------------------------------------------------------------===//

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  (void)parser.parseOptionalKeyword("private"); // Vertex functions are private.

  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true, /*allowAttrs=*/true))
    return failure();

  SmallVector<Type> state;
  if (succeeded(parser.parseOptionalKeyword("state"))) {
    if (parser.parseLParen() || parser.parseTypeList(state) ||
        parser.parseRParen())
      return failure();
  }
  int64_t arity = 0;
  if (parser.parseKeyword("arity") || parser.parseLParen() ||
      parser.parseInteger(arity) || parser.parseRParen())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("leaf"))) {
    FlatSymbolRefAttr leaf;
    if (parser.parseLParen() ||
        parser.parseAttribute(leaf, getLeafAttrName(result.name),
                              result.attributes) ||
        parser.parseRParen())
      return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("reversed")))
    result.addAttribute(getReversedAttrName(result.name),
                        builder.getUnitAttr());
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();

  SmallVector<Type> types;
  for (OpAsmParser::Argument &argument : arguments)
    types.push_back(argument.type);
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(builder.getFunctionType(types, {})));
  result.addAttribute(getStateAttrName(result.name),
                      builder.getTypeArrayAttr(state));
  result.addAttribute(getArityAttrName(result.name),
                      builder.getI64IntegerAttr(arity));
  result.addAttribute(getSymVisibilityAttrName(result.name),
                      builder.getStringAttr("private"));
  call_interface_impl::addArgAndResultAttrs(
      builder, result, arguments, /*resultAttrs=*/{},
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));

  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments, /*enableNameShadowing=*/false))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  // An empty body has no block to hold the arguments yet.
  if (body->getNumArguments() == 0)
    for (OpAsmParser::Argument &argument : arguments)
      body->addArgument(argument.type, result.location);
  return success();
}

void FuncOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  for (auto [index, argument] : llvm::enumerate(getBody().getArguments())) {
    if (index)
      printer << ", ";
    ArrayRef<NamedAttribute> attributes;
    if (ArrayAttr all = getArgAttrsAttr())
      attributes = cast<DictionaryAttr>(all[index]).getValue();
    printer.printRegionArgument(argument, attributes);
  }
  printer << ')';
  if (!getState().empty()) {
    printer << " state(";
    llvm::interleaveComma(getStateTypes(), printer);
    printer << ')';
  }
  printer << " arity(" << getArity() << ')';
  if (auto leaf = getLeafAttr()) {
    printer << " leaf(";
    printer.printAttribute(leaf);
    printer << ')';
  }
  if (getReversed())
    printer << " reversed";
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getReversedAttrName(), getSymNameAttrName(), getFunctionTypeAttrName(),
       getStateAttrName(), getArityAttrName(), getLeafAttrName(),
       getSymVisibilityAttrName(), getArgAttrsAttrName(),
       getResAttrsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}

//===----------------------------------------------------------------------===//
// func: queries and verifiers
//===----------------------------------------------------------------------===//

ScatterOp FuncOp::getScatter() {
  auto scatters = getBody().getOps<ScatterOp>();
  return scatters.empty() ? ScatterOp() : *scatters.begin();
}

/// The names under which `op` pulls from outside, with the values pulled.
static SmallVector<std::pair<StringAttr, Value>> getPulls(Operation *op) {
  SmallVector<std::pair<StringAttr, Value>> pulls;
  if (auto pull = dyn_cast<PullOp>(op))
    pulls.push_back({pull.getNameAttr(), pull.getRow()});
  else if (auto pull = dyn_cast<PullChildOp>(op))
    pulls.push_back({pull.getNameAttr(), pull.getRow()});
  else if (auto scatter = dyn_cast<ScatterChildrenOp>(op))
    for (auto [name, argument] :
         llvm::zip(scatter.getNames(), scatter.getBody().getArguments()))
      pulls.push_back({cast<StringAttr>(name), argument});
  return pulls;
}

Type FuncOp::getPulledType(StringRef name) {
  for (Operation &op : getBody().getOps())
    for (auto [pulled, value] : getPulls(&op))
      if (pulled == name)
        return value.getType();
  return Type();
}

llvm::StringMap<Type> FuncOp::getResultsByName() {
  llvm::StringMap<Type> types;
  for (Operation &op : getBody().getOps()) {
    if (auto push = dyn_cast<PushOp>(op))
      types[push.getName()] = nn::getRowsType(push.getRow().getType());
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      types[reduce.getName()] = reduce.getValue().getType();
  }
  return types;
}

PushOp FuncOp::getPush(StringRef name) {
  for (PushOp push : getBody().getOps<PushOp>())
    if (push.getName() == name)
      return push;
  return PushOp();
}

/// (F1): a ranked tensor of static shape of an element type that runs.
static LogicalResult verifyVertexType(Operation *op, Type type,
                                      const Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return op->emitOpError("[F1] expects ")
           << what << " to be a tensor of static shape (no batch dimension), "
           << "but got " << type;
  Type element = tensor.getElementType();
  if (!element.isF32() && !element.isF64() && !element.isInteger(32) &&
      !element.isInteger(1))
    return op->emitOpError("[F1] expects ")
           << what << " to have elements of f32, f64, i32 or i1, but got "
           << type;
  return success();
}

/// (F1) for what lies in memory: conditions live inside kernels only.
static LogicalResult verifyKeptType(Operation *op, Type type,
                                    const Twine &what) {
  if (failed(verifyVertexType(op, type, what)))
    return failure();
  if (getElementTypeOrSelf(type).isInteger(1))
    return op->emitOpError("[F1] expects ")
           << what << " to have elements of f32, f64 or i32, but got " << type;
  return success();
}

LogicalResult FuncOp::verifyRegions() {
  if (getFunctionType().getNumResults() != 0)
    return emitOpError("expects no results; a vertex function scatters and "
                       "pushes");
  for (auto [index, type] : llvm::enumerate(getFunctionType().getInputs()))
    if (failed(verifyKeptType(*this, type, "parameter #" + Twine(index))))
      return failure();
  for (auto [index, type] : llvm::enumerate(getStateTypes()))
    if (failed(verifyKeptType(*this, type, "state #" + Twine(index))))
      return failure();
  if (getArity() > INT32_MAX)
    return emitOpError("[F7] has arity ")
           << getArity() << ", but vertices have at most " << INT32_MAX
           << " child slots";

  ScatterOp scatter;
  llvm::StringMap<Type> pulled;
  llvm::StringSet<> pushed;
  llvm::DenseSet<int64_t> scatteredTo;
  for (Operation &op : getBody().front()) {
    if (auto other = dyn_cast<ScatterOp>(op)) {
      if (scatter) {
        InFlightDiagnostic diagnostic =
            op.emitOpError("[F2] is the second scatter of @")
            << getSymName() << "; a vertex has one state";
        diagnostic.attachNote(scatter.getLoc()) << "the first is here";
        return diagnostic;
      }
      scatter = other;
    }
    for (auto [name, value] : getPulls(&op)) {
      Type type = value.getType();
      auto [it, inserted] = pulled.try_emplace(name.getValue(), type);
      if (!inserted && it->second != type)
        return op.emitOpError("[F4] pulls ")
               << name << " as " << type << ", but it was pulled as "
               << it->second << " before";
    }
    StringRef emitted;
    if (auto push = dyn_cast<PushOp>(op))
      emitted = push.getName();
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      emitted = reduce.getName();
    if (op.hasTrait<Emits>() && !pushed.insert(emitted).second)
      return op.emitOpError("[F4] pushes \"") << emitted << "\" a second time";
    if (getReversed()
            ? isa<GatherOp, ScatterOp, MapChildrenOp>(op)
            : isa<GatherParentsOp, ScatterChildOp, ScatterChildrenOp>(op))
      return op.emitOpError("[F8] does not belong in @")
             << getSymName() << ", which is "
             << (getReversed() ? "reversed: it gathers from parents and "
                                 "scatters to children"
                               : "not reversed");
    if (auto scatter = dyn_cast<ScatterChildOp>(op))
      if (!scatteredTo.insert(scatter.getSlot()).second)
        return op.emitOpError("[B3] scatters to slot ")
               << scatter.getSlot() << " a second time";
    bool writes = op.hasTrait<Scatters>() || op.hasTrait<Emits>();
    if (!writes && !isMemoryEffectFree(&op))
      return op.emitOpError("[F6] has side effects, which a vertex function "
                            "cannot have");
    if (!writes && !nn::isTotal(&op))
      return op.emitOpError("[F6] is undefined for some operands, such as an "
                            "integer divisor of 0, which may be an absent "
                            "child's state; make the divisor a constant");
    for (auto [index, result] : llvm::enumerate(op.getResults()))
      if (failed(verifyVertexType(&op, result.getType(),
                                  "result #" + Twine(index))))
        return failure();
  }
  if (!scatter && !getState().empty() && !getReversed())
    return emitOpError("[F2] has ")
           << getState().size() << " state tensors, but no scatter";
  return success();
}

LogicalResult FuncOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FlatSymbolRefAttr reference = getLeafAttr();
  if (!reference)
    return success();
  auto leaf = symbols.lookupNearestSymbolFrom<FuncOp>(*this, reference);
  if (!leaf)
    return emitOpError("[F5] names the leaf variant ")
           << reference << ", which is no vertex.func of this module";
  if (leaf.getArity() != 0)
    return emitOpError("[F5] expects a leaf variant of arity 0, but ")
           << reference << " has arity " << leaf.getArity();
  if (leaf.getFunctionType() != getFunctionType() ||
      leaf.getState() != getState() || leaf.getReversed() != getReversed())
    return emitOpError("[F5] expects the leaf variant ")
           << reference << " to have the same parameters and state";
  if (leaf.getResultsByName() != getResultsByName())
    return emitOpError("[F5] expects the leaf variant ")
           << reference << " to push the same names and types";
  return success();
}

//===----------------------------------------------------------------------===//
// gather, scatter
//===----------------------------------------------------------------------===//

static LogicalResult verifyStates(Operation *op, StringRef label,
                                  TypeRange found) {
  FuncOp function = op->getParentOfType<FuncOp>();
  if (function.getState().empty())
    return op->emitOpError("[F2] is in @")
           << function.getSymName() << ", which has no state";
  SmallVector<Type> expected = function.getStateTypes();
  if (found == TypeRange(expected))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError()
                                  << label << " expects the state types (";
  llvm::interleaveComma(expected, diagnostic);
  diagnostic << "), but got (";
  llvm::interleaveComma(found, diagnostic);
  return diagnostic << ")";
}

LogicalResult GatherOp::verify() {
  int64_t arity = (*this)->getParentOfType<FuncOp>().getArity();
  if ((int64_t)getSlot() >= arity)
    return emitOpError("[G1] reads child slot ")
           << getSlot() << ", but the function's arity is " << arity;
  return verifyStates(*this, "[G2]", getResultTypes());
}

LogicalResult ScatterOp::verify() {
  return verifyStates(*this, "[S1]", getOperandTypes());
}

LogicalResult GatherParentsOp::verify() {
  return verifyStates(*this, "[B1]", getResultTypes());
}

/// `label`: the slot exists.
static LogicalResult verifySlot(Operation *op, StringRef label, int64_t slot) {
  int64_t arity = op->getParentOfType<FuncOp>().getArity();
  if (slot < arity)
    return success();
  return op->emitOpError() << label << " names child slot " << slot
                           << ", but the function's arity is " << arity;
}

LogicalResult ScatterChildOp::verify() {
  if (failed(verifySlot(*this, "[B3]", getSlot())))
    return failure();
  return verifyStates(*this, "[B2]", getOperandTypes());
}

/// (M3), and what the region yields.
static LogicalResult verifyChildRegion(Operation *op, StringRef label,
                                       TypeRange expected) {
  Block &body = op->getRegion(0).front();
  for (Operation &nested : body.without_terminator()) {
    bool group = isa<nn::ElementwiseOp>(nested);
    if ((nested.getNumRegions() != 0 && !group) || !nn::isTotal(&nested))
      return nested.emitOpError("[M3] cannot be evaluated for every child: it "
                                "has regions or effects, or is undefined for "
                                "some operands");
  }
  if (body.getTerminator()->getOperandTypes() == expected)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError()
                                  << label << " expects its region to yield (";
  llvm::interleaveComma(expected, diagnostic);
  return diagnostic << ")";
}

LogicalResult MapChildrenOp::verifyRegions() {
  if (failed(verifyStates(*this, "[M1]", getBody().getArgumentTypes())))
    return failure();
  return verifyChildRegion(*this, "[M2]", getResultTypes());
}

LogicalResult ScatterChildrenOp::verifyRegions() {
  if (getBody().getNumArguments() != getNames().size())
    return emitOpError("[B4] expects an argument for each of ")
           << getNames().size() << " pulled names";
  SmallVector<Type> expected =
      (*this)->getParentOfType<FuncOp>().getStateTypes();
  llvm::append_range(expected, getResultTypes());
  return verifyChildRegion(*this, "[B4]", expected);
}

LogicalResult PullChildOp::verify() {
  return verifySlot(*this, "[P2]", getSlot());
}

//===----------------------------------------------------------------------===//
// apply, roots
//===----------------------------------------------------------------------===//

/// @f, or [@f, @g] by "type".
static ParseResult parseCallees(OpAsmParser &parser, ArrayAttr &callees,
                                StringAttr &typeField) {
  SmallVector<Attribute> parsed;
  auto one = [&]() -> ParseResult {
    StringAttr name;
    if (parser.parseSymbolName(name))
      return failure();
    parsed.push_back(FlatSymbolRefAttr::get(name));
    return success();
  };
  if (failed(parser.parseOptionalLSquare())) {
    if (one())
      return failure();
  } else if (parser.parseCommaSeparatedList(one) || parser.parseRSquare()) {
    return failure();
  }
  callees = parser.getBuilder().getArrayAttr(parsed);
  if (failed(parser.parseOptionalKeyword("by")))
    return success();
  return parser.parseAttribute(typeField);
}

static void printCallees(OpAsmPrinter &printer, Operation *, ArrayAttr callees,
                         StringAttr typeField) {
  if (callees.size() == 1)
    printer << callees[0];
  else
    printer << callees;
  if (typeField)
    printer << " by " << typeField << ' ';
}

/// pull("word" = %e, ...), absent if nothing is pulled.
static ParseResult
parsePulls(OpAsmParser &parser, ArrayAttr &names,
           SmallVectorImpl<OpAsmParser::UnresolvedOperand> &pulled) {
  SmallVector<Attribute> parsed;
  if (succeeded(parser.parseOptionalKeyword("pull"))) {
    auto one = [&]() -> ParseResult {
      std::string name;
      if (parser.parseString(&name) || parser.parseEqual() ||
          parser.parseOperand(pulled.emplace_back()))
        return failure();
      parsed.push_back(parser.getBuilder().getStringAttr(name));
      return success();
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, one))
      return failure();
  }
  names = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

static void printPulls(OpAsmPrinter &printer, Operation *, ArrayAttr names,
                       OperandRange pulled) {
  if (names.empty())
    return;
  printer << "pull(";
  llvm::interleaveComma(llvm::zip(names, pulled), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " = " << std::get<1>(pair);
  });
  printer << ")";
}

/// -> "hidden", ..., absent if nothing is pushed.
static ParseResult parsePushes(OpAsmParser &parser, ArrayAttr &names) {
  SmallVector<Attribute> parsed;
  if (succeeded(parser.parseOptionalArrow())) {
    auto one = [&]() -> ParseResult {
      std::string name;
      if (parser.parseString(&name))
        return failure();
      parsed.push_back(parser.getBuilder().getStringAttr(name));
      return success();
    };
    if (parser.parseCommaSeparatedList(one))
      return failure();
  }
  names = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

static void printPushes(OpAsmPrinter &printer, Operation *, ArrayAttr names) {
  if (names.empty())
    return;
  printer << " -> ";
  llvm::interleaveComma(names, printer);
}

/// `(parameters), (pulled) -> pushed`, where any may be empty.
static ParseResult parseApplyTypes(OpAsmParser &parser,
                                   SmallVectorImpl<Type> &parameters,
                                   SmallVectorImpl<Type> &pulled,
                                   SmallVectorImpl<Type> &pushed) {
  auto list = [&](SmallVectorImpl<Type> &types) {
    return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&] {
      return parser.parseType(types.emplace_back());
    });
  };
  return failure(list(parameters) || parser.parseComma() || list(pulled) ||
                 parser.parseArrowTypeList(pushed));
}

static void printApplyTypes(OpAsmPrinter &printer, Operation *,
                            TypeRange parameters, TypeRange pulled,
                            TypeRange pushed) {
  printer << '(' << parameters << "), (" << pulled << ')';
  printer.printArrowTypeList(pushed);
}

SmallVector<FuncOp> vertex::lookupCallees(ApplyOp apply, SymbolTable &symbols) {
  return llvm::map_to_vector(apply.getCallees().getAsRange<FlatSymbolRefAttr>(),
                             [&](FlatSymbolRefAttr name) {
                               return symbols.lookup<FuncOp>(name.getValue());
                             });
}

/// (A1), (A2): `name` is a vertex function with parameters of these types.
static FailureOr<FuncOp> verifyCallee(ApplyOp apply, FlatSymbolRefAttr name,
                                      SymbolTableCollection &symbols) {
  auto function = symbols.lookupNearestSymbolFrom<FuncOp>(apply, name);
  if (!function)
    return apply.emitOpError("[A1] applies ")
           << name << ", which is no vertex.func of this module";
  ArrayRef<Type> expected = function.getFunctionType().getInputs();
  if (TypeRange(apply.getParameters().getTypes()) == TypeRange(expected))
    return function;
  InFlightDiagnostic diagnostic =
      apply.emitOpError("[A2] expects parameters of types (");
  llvm::interleaveComma(expected, diagnostic);
  diagnostic << "), but got (";
  llvm::interleaveComma(apply.getParameters().getTypes(), diagnostic);
  diagnostic << ")";
  diagnostic.attachNote(function.getLoc()) << "applied function";
  return diagnostic;
}

/// (A6): vertices of one type can read children of another.
static LogicalResult verifySameStates(ApplyOp apply, ArrayRef<FuncOp> callees) {
  FuncOp first = callees.front();
  for (FuncOp other : callees.drop_front()) {
    if (other.getState() == first.getState() &&
        other.getReversed() == first.getReversed())
      continue;
    InFlightDiagnostic diagnostic = apply.emitOpError("[A6] expects @")
                                    << other.getSymName()
                                    << " to have the states of @"
                                    << first.getSymName() << ", (";
    llvm::interleaveComma(first.getStateTypes(), diagnostic);
    diagnostic << ")" << (first.getReversed() ? " reversed" : "")
               << ", but it has (";
    llvm::interleaveComma(other.getStateTypes(), diagnostic);
    diagnostic << ")" << (other.getReversed() ? " reversed" : "");
    diagnostic.attachNote(other.getLoc()) << "applied function";
    return diagnostic;
  }
  return success();
}

/// (A3), of the callees and their leaf variants.
static LogicalResult verifyPulls(ApplyOp apply, ArrayRef<FuncOp> variants) {
  if (apply.getPullNames().size() != apply.getPulled().size())
    return apply.emitOpError("[A3] has ")
           << apply.getPullNames().size() << " pull names for "
           << apply.getPulled().size() << " pulled tensors";
  llvm::StringMap<Type> bound;
  for (auto [attribute, value] :
       llvm::zip(apply.getPullNames(), apply.getPulled())) {
    StringRef name = cast<StringAttr>(attribute).getValue();
    if (!bound.try_emplace(name, value.getType()).second)
      return apply.emitOpError("[A3] binds \"") << name << "\" twice";
    // A pull that nobody read may have gone since it was bound.
    for (FuncOp variant : variants)
      if (Type row = variant.getPulledType(name);
          row && value.getType() != nn::getRowsType(row))
        return apply.emitOpError("[A3] expects \"")
               << name << "\" to be " << nn::getRowsType(row) << ", but got "
               << value.getType();
  }
  for (FuncOp variant : variants)
    for (Operation &op : variant.getBody().getOps())
      for (auto [name, value] : getPulls(&op)) {
        if (bound.contains(name.getValue()))
          continue;
        InFlightDiagnostic diagnostic = apply.emitOpError("[A3] does not bind ")
                                        << name << ", which @"
                                        << variant.getSymName() << " pulls";
        diagnostic.attachNote(op.getLoc()) << "pulled here";
        return diagnostic;
      }
  return success();
}

/// (A4)
static LogicalResult verifyPushes(ApplyOp apply, ArrayRef<FuncOp> callees) {
  if (apply.getPushNames().size() != apply.getNumResults())
    return apply.emitOpError("[A4] has ")
           << apply.getPushNames().size() << " push names for "
           << apply.getNumResults() << " results";
  llvm::StringMap<Type> listed;
  for (auto [attribute, value] :
       llvm::zip(apply.getPushNames(), apply.getPushed())) {
    StringRef name = cast<StringAttr>(attribute).getValue();
    if (!listed.try_emplace(name, value.getType()).second)
      return apply.emitOpError("[A4] lists \"") << name << "\" twice";
    if (llvm::any_of(callees, [&](FuncOp callee) {
          return callee.getResultsByName().contains(name);
        }))
      continue;
    InFlightDiagnostic diagnostic = apply.emitOpError("[A4] lists \"")
                                    << name << "\", which ";
    llvm::interleave(
        callees, diagnostic,
        [&](FuncOp callee) { diagnostic << "@" << callee.getSymName(); },
        " and ");
    return diagnostic << (callees.size() == 1 ? " does" : " do") << " not push";
  }
  for (FuncOp callee : callees) {
    llvm::StringMap<Type> emitted = callee.getResultsByName();
    for (Operation &op : callee.getBody().getOps()) {
      StringRef name;
      if (auto push = dyn_cast<PushOp>(op))
        name = push.getName();
      else if (auto reduce = dyn_cast<ReduceOp>(op))
        name = reduce.getName();
      else
        continue;
      auto it = listed.find(name);
      if (it != listed.end() && it->second == emitted.lookup(name))
        continue;
      if (it != listed.end())
        return apply.emitOpError("[A4] expects \"")
               << name << "\" to be " << emitted.lookup(name) << ", but got "
               << it->second;
      InFlightDiagnostic diagnostic = apply.emitOpError("[A4] does not list \"")
                                      << name << "\", which @"
                                      << callee.getSymName() << " pushes";
      diagnostic.attachNote(op.getLoc()) << "pushed here";
      return diagnostic;
    }
  }
  return success();
}

LogicalResult ApplyOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<FuncOp> callees, variants;
  for (auto name : getCallees().getAsRange<FlatSymbolRefAttr>()) {
    FailureOr<FuncOp> callee = verifyCallee(*this, name, symbols);
    if (failed(callee))
      return failure();
    callees.push_back(*callee);
    variants.push_back(*callee);
    if (auto leaf = callee->getLeafAttr())
      if (auto variant = symbols.lookupNearestSymbolFrom<FuncOp>(*this, leaf))
        variants.push_back(variant);
  }
  if (callees.size() > 1 && !getTypeField())
    return emitOpError("[A5] applies ")
           << callees.size() << " functions; name the field that has the type "
           << "of each vertex: by \"type\"";
  if (callees.size() == 1 && getTypeField())
    return emitOpError("[A5] chooses by the field \"")
           << *getTypeField() << "\", but applies one function only";
  if (failed(verifySameStates(*this, callees)) ||
      failed(verifyPulls(*this, variants)))
    return failure();
  return verifyPushes(*this, callees);
}

static LogicalResult verifyRows(Operation *op, Value rows) {
  if (isRowsType(rows.getType()))
    return success();
  return op->emitOpError("expects rows (a leading dynamic dimension, the "
                         "others static), but got ")
         << rows.getType();
}

LogicalResult RootsOp::verify() { return verifyRows(*this, getRows()); }
LogicalResult AtRootsOp::verify() { return verifyRows(*this, getRows()); }

LogicalResult MultiplicityOp::verify() {
  if (failed(verifyRows(*this, getRows())))
    return failure();
  auto type = cast<RankedTensorType>(getType());
  if (isRowsType(type) && type.getRank() == 1 &&
      isa<FloatType>(type.getElementType()))
    return success();
  return emitOpError("[H1] expects to give a batch of floats, but gives ")
         << type;
}

void RootsOp::buildAdjoint(OpBuilder &builder, nn::Adjoints &adjoints) {
  if (adjoints.wants(getRows()))
    adjoints.add(getRows(), AtRootsOp::create(builder, getLoc(), getGraph(),
                                              adjoints.of(getResult())));
}

/// The number of vertices does not depend on the rows.
void MultiplicityOp::buildAdjoint(OpBuilder &, nn::Adjoints &) {}

void AtRootsOp::buildAdjoint(OpBuilder &builder, nn::Adjoints &adjoints) {
  if (adjoints.wants(getRows()))
    adjoints.add(getRows(), RootsOp::create(builder, getLoc(), getGraph(),
                                            adjoints.of(getResult())));
}

//===----------------------------------------------------------------------===//
// reverse, rows of structures
//===----------------------------------------------------------------------===//

LogicalResult ReverseOp::verify() {
  if (auto other = getGraph().getDefiningOp<ReverseOp>()) {
    InFlightDiagnostic diagnostic =
        emitOpError("[W1] reverses a graph that is reversed");
    diagnostic.attachNote(other.getLoc()) << "apply over its operand instead";
    return diagnostic;
  }
  return success();
}

/// Rows that numbers can be added to.
static LogicalResult verifyFloatRows(Operation *op, Value rows) {
  if (failed(verifyRows(op, rows)))
    return failure();
  if (isa<FloatType>(getElementTypeOrSelf(rows)))
    return success();
  return op->emitOpError("expects rows of floats, but got ") << rows.getType();
}

LogicalResult SpreadStructuresOp::verify() {
  return verifyRows(*this, getRows());
}
LogicalResult SegmentSumOp::verify() {
  return verifyFloatRows(*this, getRows());
}
LogicalResult SegmentMaxOp::verify() {
  return verifyFloatRows(*this, getRows());
}

void SpreadStructuresOp::buildAdjoint(OpBuilder &builder,
                                      nn::Adjoints &adjoints) {
  if (adjoints.wants(getRows()))
    adjoints.add(getRows(), SegmentSumOp::create(builder, getLoc(), getGraph(),
                                                 adjoints.of(getResult())));
}

void SegmentSumOp::buildAdjoint(OpBuilder &builder, nn::Adjoints &adjoints) {
  if (adjoints.wants(getRows()))
    adjoints.add(getRows(),
                 SpreadStructuresOp::create(builder, getLoc(), getGraph(),
                                            adjoints.of(getResult())));
}

void SegmentMaxOp::buildAdjoint(OpBuilder &builder, nn::Adjoints &adjoints) {
  // Where x is the maximum, d / n: n vertices have it, mostly one.
  if (!adjoints.wants(getRows()))
    return;
  Location loc = getLoc();
  Value x = getRows();
  auto spread = [&](Value rows) -> Value {
    return SpreadStructuresOp::create(builder, loc, getGraph(), rows);
  };
  auto fill = [&](double value) -> Value {
    return nn::FillOp::create(builder, loc, x.getType(), x,
                              builder.getF64FloatAttr(value));
  };
  Value isMax = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                      x, spread(getResult()));
  Value mask =
      arith::SelectOp::create(builder, loc, isMax, fill(1.0), fill(0.0));
  Value count = SegmentSumOp::create(builder, loc, getGraph(), mask);
  Value share =
      arith::DivFOp::create(builder, loc, adjoints.of(getResult()), count);
  adjoints.add(x, arith::MulFOp::create(builder, loc, mask, spread(share)));
}

void YieldOp::build(OpBuilder &, OperationState &) {}

#define GET_OP_CLASSES
#include "espalier/Dialect/Vertex/IR/VertexOps.cpp.inc"
