//===- LowerToModel.cpp - Entries become phases of steps --------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tensor becomes a view: a buffer and how a step that runs over schedule
// rows finds a row in it. Pulls, pushes, gathers, roots and slices only change
// the view; what remains is work:
//
//   matmul, embedding, sums  a step, into a buffer
//   elementwise, softmax     a generated kernel, into buffers
//   concat, join, loop       their operands are made where the result lies
//   return                   a copy into the caller's order, or made there
//
// A value is made where its reader wants it if it has no other place yet (its
// destination); otherwise it is copied. A parameter's new value is made where
// the parameter is, if everybody who reads the old one has done so by then.
//
//===----------------------------------------------------------------------===//

#include "CheckEntry.h"
#include "KernelBuilder.h"
#include "LowerNetwork.h"
#include "Program.h"
#include "ReadWeight.h"

#include "espalier/Analysis/RowSpaces.h"
#include "espalier/Conversion/Passes.h"
#include "espalier/Dialect/Plan/IR/Plan.h"
#include "espalier/Dialect/Vertex/IR/Vertex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace espalier;

using model::Access;
using model::BufferKind;
using model::Rows;

namespace espalier {
#define GEN_PASS_DEF_LOWERTOMODELPASS
#include "espalier/Conversion/Passes.h.inc"
} // namespace espalier

/// One row of `type`, batched or not.
static RankedTensorType rowOf(Type type) {
  return nn::isRowsType(type) ? nn::getRowType(type)
                              : cast<RankedTensorType>(type);
}

static int64_t elementsOf(Type type) { return rowOf(type).getNumElements(); }

namespace {
class EntryLowering {
public:
  EntryLowering(func::FuncOp function, RowSpaces spaces, SymbolTable &symbols,
                unsigned vectorBits)
      : function(function), spaces(std::move(spaces)), symbols(symbols),
        vectorBits(vectorBits) {}

  LogicalResult run() {
    if (failed(bindArguments()) || failed(bindResults()))
      return failure();
    separateTables();
    planDestinations();
    for (Operation &op : function.getBody().front())
      if (failed(lower(&op)))
        return failure();
    program.finish();
    OpBuilder builder(function);
    program.emit(builder, function.getLoc(), function.getName());
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Arguments and results
  //===--------------------------------------------------------------------===//

  LogicalResult bindArguments() {
    llvm::StringSet<> names;
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      auto input = function.getArgAttrOfType<StringAttr>(number, "nn.input");
      auto parameter =
          function.getArgAttrOfType<StringAttr>(number, "nn.param");
      auto state = function.getArgAttrOfType<StringAttr>(number, "nn.state");
      if (!input && !parameter && !state)
        return function.emitOpError("argument #")
               << number << " of entry @" << function.getName()
               << " has no name; give it nn.input or nn.param";
      StringRef name = (input       ? input
                        : parameter ? parameter
                                    : state)
                           .getValue();
      if (!names.insert(name).second)
        return function.emitOpError("has two arguments named '") << name << "'";
      if (isa<vertex::GraphType>(argument.getType())) {
        addGraph(name.str(), 0, [&](StringRef attribute) {
          return function.getArgAttr(number, attribute);
        });
        continue;
      }
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type || !(type.hasStaticShape() || nn::isRowsType(type)))
        return function.emitOpError("argument '")
               << name << "' is " << argument.getType()
               << "; expects a graph, a tensor of static shape, or one whose "
                  "leading dimension only is dynamic";
      RowSpace space = spaces.of(argument);
      if (parameter || state) {
        view(argument) =
            shared(program.addBuffer(parameter ? BufferKind::parameter
                                               : BufferKind::state,
                                     name, RowSpace(), type),
                   type);
        bound[name] = argument;
        continue;
      }
      if (space.rows != Rows::one && space.rows != Rows::caller &&
          space.rows != Rows::structures)
        return function.emitOpError("argument '")
               << name << "' has rows in schedule order, which only the "
               << "runtime knows";
      int64_t buffer =
          program.addBuffer(BufferKind::input, name, space, rowOf(type));
      view(argument) = shared(buffer, type);
      if (space.rows == Rows::caller)
        view(argument).access = Access::caller;
      else if (space.rows == Rows::structures)
        view(argument).access = Access::row;
    }
    function.walk([&](vertex::ReverseOp op) {
      int64_t source = spaces.graphNumber(op.getGraph());
      addGraph(program.graphs[source].name + " reversed", source + 1,
               [&](StringRef attribute) { return op->getAttr(attribute); });
    });
    return success();
  }

  /// A graph of which `attributeOf` finds what batch-vertices has noted.
  void addGraph(std::string name, int64_t reverseOf,
                llvm::function_ref<Attribute(StringRef)> attributeOf) {
    auto number = [&](StringRef attribute, int64_t otherwise) {
      auto noted = cast_or_null<IntegerAttr>(attributeOf(attribute));
      return noted ? noted.getInt() : otherwise;
    };
    auto field =
        cast_or_null<StringAttr>(attributeOf(vertex::kTypeFieldAttrName));
    program.graphs.push_back(
        {std::move(name), number(vertex::kArityAttrName, 0), reverseOf,
         number(vertex::kTypesAttrName, 1), field ? field.str() : std::string(),
         bool(attributeOf(vertex::kSharedAttrName))});
  }

  LogicalResult bindResults() {
    Operation *terminator = function.getBody().front().getTerminator();
    llvm::StringSet<> names;
    for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
      if (auto name =
              function.getResultAttrOfType<StringAttr>(number, "nn.update")) {
        Value target = bound.lookup(name.getValue());
        if (!target || target.getType() != value.getType())
          return function.emitOpError("result #")
                 << number << " updates '" << name.getValue() << "', which is "
                 << (target ? "of another type" : "no parameter or state");
        outputs.push_back(view(target).buffer);
        continue;
      }
      auto name = function.getResultAttrOfType<StringAttr>(number, "nn.output");
      if (!name)
        return function.emitOpError("result #")
               << number << " of entry @" << function.getName()
               << " has no name; give it nn.output";
      if (!names.insert(name.getValue()).second)
        return function.emitOpError("has two results named '")
               << name.getValue() << "'";
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || !(type.hasStaticShape() || nn::isRowsType(type)))
        return function.emitOpError("result '")
               << name.getValue() << "' is " << value.getType()
               << "; expects a tensor of static shape, or one whose leading "
                  "dimension only is dynamic";
      RowSpace space = spaces.of(value);
      if (space.rows == Rows::leaves || space.rows == Rows::inner)
        return function.emitOpError("result '")
               << name.getValue() << "' has the rows of some vertices only, in "
               << "schedule order; join them and push them first";
      outputs.push_back(program.addBuffer(BufferKind::output, name.getValue(),
                                          space, rowOf(type)));
    }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Destinations
  //===--------------------------------------------------------------------===//

  /// Whether lowering the operator that defines `value` writes its rows
  /// somewhere, rather than only saying where they are.
  static bool isMade(Value value) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<tensor::ConcatOp>(op))
      return !isWeight(op);
    return isa_and_nonnull<
        nn::MatmulOp, nn::EmbeddingOp, nn::RowKernelOpInterface, nn::SumRowsOp,
        nn::OuterSumOp, nn::CombineRowsOp, nn::UpdateRowsOp, vertex::JoinRowsOp,
        vertex::SpreadRowsOp, vertex::GatherParentRowsOp,
        vertex::GatherParentEdgeRowsOp, vertex::ReduceEdgeRowsOp,
        vertex::SegmentSumOp, vertex::SegmentMaxOp>(op);
  }

  /// Whether `op` puts columns of weights together, for a product to read.
  static bool isWeight(Operation *op) {
    auto concat = cast<tensor::ConcatOp>(op);
    return !isRowConcat(concat) &&
           llvm::none_of(concat.getInputs(),
                         [](Value piece) { return isMade(piece); });
  }

  /// Whether pieces of `concat` can be made, or copied, where the whole lies.
  /// In a matrix they are columns, which only a reduction can write; a kernel
  /// gathers them otherwise. The same before and after pieces are claimed.
  bool isMadeInPlace(tensor::ConcatOp concat) {
    auto it = inPlace.find(concat);
    if (it != inPlace.end())
      return it->second;
    llvm::DenseSet<Value> distinct;
    bool all = llvm::all_of(
        parts(concat), [](const Operand &part) { return part.stride == 0; });
    bool reductions = llvm::all_of(concat.getInputs(), [&](Value piece) {
      return piece.getDefiningOp<nn::OuterSumOp>() &&
             !destinations.contains(piece) && distinct.insert(piece).second;
    });
    return inPlace[concat] = all || reductions;
  }

  /// Whether `value` is a sum over parents' rows of `buffer`, which its own row
  /// then cannot be in.
  bool sumsRowsOf(Value value, int64_t buffer) {
    auto gather = value.getDefiningOp<vertex::GatherParentRowsOp>();
    auto argument =
        gather ? dyn_cast<BlockArgument>(gather.getRows()) : BlockArgument();
    if (!argument)
      return false;
    Operation *loop = argument.getOwner()->getParentOp();
    return destination(loop->getResult(argument.getArgNumber())).buffer ==
           buffer;
  }

  /// Has `value` made at `place` if it can be and has no other place yet.
  void claim(Value value, Operand place) {
    if (isMade(value) && !sumsRowsOf(value, place.buffer))
      destinations.try_emplace(value, place);
  }

  /// Makes the constant table that several updates start from, e.g. zeros, once
  /// for each of them.
  void separateTables() {
    function.walk([](nn::UpdateRowsOp update) {
      auto made = update.getTable().getDefiningOp<nn::ElementwiseOp>();
      if (!made || made->getNumOperands() != 0 || made->getNumResults() != 1 ||
          made->hasOneUse())
        return;
      // Before the rows that are written into it.
      OpBuilder builder(made);
      update.getTableMutable().assign(builder.clone(*made)->getResult(0));
    });
  }

  /// From the last operator to the first, so that a reader's place is known
  /// before its operands'.
  void planDestinations() {
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [value, buffer] : llvm::zip(terminator->getOperands(), outputs)) {
      bool update = program.buffers[buffer].kind != BufferKind::output;
      if (update ? isLastReader(value, buffer)
                 : program.buffers[buffer].space.rows == Rows::structures)
        claim(value, rowOperand(buffer, value.getType()));
    }
    function.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (auto concat = dyn_cast<tensor::ConcatOp>(op);
          concat && !isWeight(concat)) {
        if (!isMadeInPlace(concat))
          return;
        for (auto [piece, part] : llvm::zip(concat.getInputs(), parts(concat)))
          claim(piece, part);
      } else if (auto update = dyn_cast<nn::UpdateRowsOp>(op)) {
        // Into a table that only this writes, or a parameter's own.
        claim(update.getTable(), destination(update));
        if (isMade(update.getTable())
                ? update.getTable().hasOneUse()
                : isLastReader(update, view(update.getTable()).buffer))
          claim(update.getRows(), tableRows(update));
      } else if (auto join = dyn_cast<vertex::JoinRowsOp>(op)) {
        Operand place = destination(join);
        for (Value piece : join.getPieces())
          claim(piece, place);
      } else if (auto yield = dyn_cast<vertex::YieldOp>(op)) {
        // Before the loop's own visit: its body is walked first in reverse.
        for (auto [value, result] :
             llvm::zip(yield.getValues(),
                       resultsOf(yield->getParentOp(),
                                 yield->getParentRegion()->getRegionNumber())))
          claim(value, destination(result));
        if (auto tasks = dyn_cast<vertex::TasksOp>(yield->getParentOp()))
          for (auto [index, init] : llvm::enumerate(tasks.getInits()))
            claim(init,
                  destination(tasks.getOutputs()[index % tasks.getStates()]));
      }
    });
  }

  /// The results of a loop that its body `index` yields rows of.
  static SmallVector<Value> resultsOf(Operation *loop, size_t index) {
    if (auto tasks = dyn_cast<vertex::TasksOp>(loop))
      return tasks.getOutputsOf(index);
    return cast<vertex::ReversedTasksOp>(loop).getOutputsOf(index);
  }

  /// Whether all who read the old contents of the parameter `buffer` have done
  /// so when the operator of `value`, its new contents, runs. Products do not:
  /// they read what was packed before.
  bool isLastReader(Value value, int64_t buffer) {
    Operation *writer = value.getDefiningOp();
    if (!writer || writer->getBlock() != &function.getBody().front())
      return false;
    SmallVector<Value> worklist;
    for (auto &[name, argument] : bound)
      if (view(argument).buffer == buffer)
        worklist.push_back(argument);
    while (!worklist.empty()) {
      Value read = worklist.pop_back_val();
      for (Operation *user : read.getUsers()) {
        Operation *ancestor = writer->getBlock()->findAncestorOpInBlock(*user);
        if (isa<nn::MatmulOp>(user) || user == writer)
          continue;
        if (isa<nn::TransposeOp, tensor::ExtractSliceOp>(user))
          worklist.push_back(user->getResult(0));
        else if (isa<func::ReturnOp>(user) ||
                 !ancestor->isBeforeInBlock(writer))
          return false;
      }
    }
    return true;
  }

  /// The rows of the table that `update` replaces.
  Operand tableRows(nn::UpdateRowsOp update) {
    Value table = update.getTable();
    Operand rows = isMade(table) ? destination(table) : view(table);
    rows.access = Access::id;
    rows.slot = destination(update.getIds()).buffer;
    rows.elements = elementsOf(update.getRows().getType());
    return rows;
  }

  /// Where the pieces of a concatenation go.
  SmallVector<Operand> parts(tensor::ConcatOp concat) {
    auto type = rowOf(concat.getType());
    int64_t dim = concat.getDim() - (nn::isRowsType(concat.getType()) ? 1 : 0);
    int64_t inner = 1;
    for (int64_t extent : type.getShape().drop_front(dim + 1))
      inner *= extent;
    bool contiguous = llvm::all_of(type.getShape().take_front(dim),
                                   [](int64_t extent) { return extent == 1; });
    Operand place = destination(concat);
    SmallVector<Operand> parts;
    for (Value piece : concat.getInputs()) {
      Operand part = place;
      part.elements = elementsOf(piece.getType());
      if (!contiguous && part.stride == 0)
        part.stride = type.getShape().back();
      parts.push_back(part);
      place.column +=
          (contiguous && place.stride == 0 ? part.elements
           : dim == 0 ? rowOf(piece.getType()).getDimSize(0) * place.stride
                      : rowOf(piece.getType()).getDimSize(dim) * inner);
    }
    return parts;
  }

  /// Where `value` is made; a buffer of its own unless somebody claimed it.
  Operand destination(Value value) {
    auto it = destinations.find(value);
    if (it != destinations.end())
      return it->second;
    RowSpace space = stored(spaces.of(value));
    int64_t buffer = program.addBuffer(BufferKind::dynamic, "", space,
                                       rowOf(value.getType()));
    Operand place = rowOperand(buffer, value.getType());
    destinations[value] = place;
    return place;
  }

  //===--------------------------------------------------------------------===//
  // Views
  //===--------------------------------------------------------------------===//

  Operand &view(Value value) { return views[value]; }

  static Operand shared(int64_t buffer, Type type) {
    return Operand{buffer, Access::shared, 0, 0, elementsOf(type)};
  }
  static Operand rowOperand(int64_t buffer, Type type) {
    return Operand{buffer, Access::row, 0, 0, elementsOf(type)};
  }

  /// Values in the caller's order are computed and kept in schedule order.
  static RowSpace stored(RowSpace space) {
    if (space.rows == Rows::caller)
      space.rows = Rows::vertices;
    return space;
  }

  /// How to find rows of `value`; constants get a buffer on first use.
  FailureOr<Operand> viewOf(Value value, Operation *reader) {
    auto it = views.find(value);
    if (it != views.end())
      return it->second;
    ElementsAttr constant;
    if (matchPattern(value, m_Constant(&constant))) {
      int64_t buffer =
          program.addBuffer(BufferKind::constant, "constant", RowSpace(),
                            cast<RankedTensorType>(value.getType()));
      program.buffers[buffer].value = constant;
      return view(value) = shared(buffer, value.getType());
    }
    return reader->emitOpError("reads a value that has no place in memory; "
                               "slices of weights are read by nn.matmul only");
  }

  /// A view of a written value for those who read it.
  Operand readable(Operand place, Value value) {
    if (program.buffers[place.buffer].space.rows == Rows::one)
      place.access = Access::shared;
    place.elements = elementsOf(value.getType());
    return place;
  }

  //===--------------------------------------------------------------------===//
  // Operators
  //===--------------------------------------------------------------------===//

  /// The rows that an operator with result `value` runs over.
  RowSpace running(Value value) { return stored(spaces.of(value)); }

  /// Adds a step that runs over `space`, in the loop if there is one.
  void addStep(Step step, RowSpace space) {
    if (loop)
      space.type = loopType;
    program.addStep(std::move(step), space, loop);
  }

  void addCopy(Operand source, Operand target, RowSpace space, Location loc) {
    Step step(StepKind::copy, loc);
    step.operands = {source, target};
    step.results = 1;
    addStep(std::move(step), space);
  }

  LogicalResult lower(Operation *op) {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<vertex::SegmentSumOp>([&](auto readout) {
          return lowerReadout(readout, readout.getRows(),
                              StepKind::sum_vertices);
        })
        .Case<vertex::SegmentMaxOp>([&](auto readout) {
          return lowerReadout(readout, readout.getRows(),
                              StepKind::max_vertices);
        })
        .Case<vertex::RootsOp, vertex::RootRowsOp>(
            [&](auto roots) { return lowerRoots(roots, roots.getRows()); })
        .Case<vertex::AtRootsOp>([&](auto spread) {
          return lowerSpread(spread, spread.getRows(), Access::root_structure);
        })
        .Case<vertex::SpreadStructuresOp>([&](auto spread) {
          return lowerSpread(spread, spread.getRows(), Access::structure);
        })
        .Case<vertex::PullRowsOp, vertex::PushRowsOp, vertex::SelectRowsOp,
              vertex::GatherRowsOp, vertex::SpreadRowsOp, vertex::JoinRowsOp,
              vertex::TasksOp, vertex::ReversedTasksOp,
              vertex::GatherParentRowsOp, vertex::GatherParentEdgeRowsOp,
              vertex::EdgeChildRowsOp, vertex::EdgeParentRowsOp,
              vertex::ReduceEdgeRowsOp, vertex::ChildRowsOp,
              vertex::MultiplicityOp, nn::MatmulOp, nn::EmbeddingOp,
              nn::SumRowsOp, nn::OuterSumOp, nn::CombineRowsOp,
              nn::UpdateRowsOp, func::ReturnOp, tensor::ConcatOp,
              tensor::ExtractSliceOp>(
            [&](auto known) { return lowerOp(known); })
        .Case<nn::RowKernelOpInterface>(
            [&](auto kernel) { return lowerKernel(kernel); })
        .Case<arith::ConstantOp, tensor::DimOp, nn::TransposeOp,
              vertex::ReverseOp, vertex::YieldOp>(
            [](Operation *) { return success(); })
        .Default([](Operation *op) {
          InFlightDiagnostic diagnostic =
              op->emitOpError("cannot be lowered to steps of the runtime");
          if (isMemoryEffectFree(op) && !nn::isTotal(op))
            diagnostic.attachNote()
                << "its result is undefined for some operands, such as an "
                   "integer divisor of 0";
          else if (OpTrait::hasElementwiseMappableTraits(op))
            diagnostic.attachNote() << "run fuse-elementwise first: kernels "
                                       "are made from its groups";
          if (isa<vertex::ApplyOp>(op))
            diagnostic.attachNote() << "run batch-vertices first";
          return failure();
        });
  }

  LogicalResult lowerOp(vertex::SelectRowsOp op) {
    FailureOr<Operand> source = viewOf(op.getRows(), op);
    if (failed(source))
      return failure();
    view(op.getResult()) = *source;
    return success();
  }

  LogicalResult lowerOp(vertex::PullRowsOp op) {
    return lowerReordering(op, op.getGraph(), op.getRows(),
                           spaces.of(op.getRows()));
  }

  LogicalResult lowerOp(vertex::PushRowsOp op) {
    return lowerReordering(op, op.getGraph(), op.getRows(),
                           spaces.of(op.getResult()));
  }

  /// Pulls or pushes `rows` over `graph`; `caller` are the rows in the caller's
  /// order. Over an argument that changes nothing: these are kept in its
  /// schedule order (see `stored`). Its reverse has another, so there the rows
  /// are read, or written, where they lie in the caller's order.
  LogicalResult lowerReordering(Operation *op, Value graph, Value rows,
                                RowSpace caller) {
    FailureOr<Operand> source = viewOf(rows, op);
    if (failed(source))
      return failure();
    Operand &found = view(op->getResult(0)) = *source;
    bool isKept = spaces.graphNumber(graph) == caller.graph;
    // These depend on no order.
    bool isFree = source->access == Access::caller ||
                  source->access == Access::shared ||
                  source->access == Access::structure ||
                  source->access == Access::root_structure;
    if (isKept || isFree)
      return success();
    auto [it, inserted] = callerOrder.try_emplace(rows);
    if (inserted) {
      it->second = rowOperand(program.addBuffer(BufferKind::dynamic, "", caller,
                                                rowOf(rows.getType())),
                              rows.getType());
      it->second.access = Access::caller;
      addCopy(*source, it->second, running(rows), op->getLoc());
    }
    found = it->second;
    return success();
  }
  LogicalResult lowerRoots(Operation *op, Value rows) {
    FailureOr<Operand> source = viewOf(rows, op);
    if (failed(source))
      return failure();
    Operand root = *source;
    // A row that is the same for all is not a structure's that has no vertex.
    if (root.access != Access::row && root.access != Access::caller)
      root = materialize(root, rows, op->getLoc());
    if (root.access == Access::row)
      root.access = Access::root;
    else if (root.access == Access::caller)
      root.access = Access::caller_root;
    view(op->getResult(0)) = root;
    return success();
  }

  /// Filled by the runtime, which may share rows of vertices, and no others.
  LogicalResult lowerOp(vertex::MultiplicityOp op) {
    Value result = op.getResult();
    RankedTensorType row = rowOf(result.getType());
    RowSpace space = running(result);
    if (space.rows != Rows::vertices && space.rows != Rows::structures)
      return op.emitOpError("counts the vertices that share a row, of all "
                            "vertices, but is asked for rows of some");
    if (space.rows == Rows::structures) {
      int64_t one =
          program.addBuffer(BufferKind::constant, "constant", RowSpace(), row);
      program.buffers[one].value =
          SplatElementsAttr::get(row, FloatAttr::get(row.getElementType(), 1));
      view(result) = shared(one, result.getType());
      return success();
    }
    auto [it, inserted] =
        multiplicities.try_emplace({space.graph, row.getElementType()});
    if (inserted)
      it->second = program.addBuffer(BufferKind::multiplicity, "multiplicity",
                                     space, row);
    view(result) = rowOperand(it->second, result.getType());
    return success();
  }

  /// A copy of `rows`, which lie at `source`, one after another.
  Operand materialize(Operand source, Value rows, Location loc) {
    RowSpace space = running(rows);
    Operand copy = rowOperand(program.addBuffer(BufferKind::dynamic, "", space,
                                                rowOf(rows.getType())),
                              rows.getType());
    addCopy(source, copy, space, loc);
    return copy;
  }

  /// Rows of structures as vertices find them.
  LogicalResult lowerSpread(Operation *op, Value rows, Access access) {
    FailureOr<Operand> source = viewOf(rows, op);
    if (failed(source))
      return failure();
    Operand spread = *source;
    if (spread.access != Access::row)
      spread = materialize(spread, rows, op->getLoc());
    spread.access = access;
    view(op->getResult(0)) = spread;
    return success();
  }

  LogicalResult lowerReadout(Operation *op, Value rows, StepKind kind) {
    FailureOr<Operand> source = viewOf(rows, op);
    if (failed(source))
      return failure();
    Operand input = *source;
    // The step finds the vertices of a structure in either order.
    if (input.access == Access::caller)
      input.access = Access::row;
    else if (input.access != Access::row)
      input = materialize(input, rows, op->getLoc());
    Value result = op->getResult(0);
    Step step(kind, op->getLoc());
    step.operands = {input, destination(result)};
    step.results = 1;
    addStep(std::move(step), running(result));
    view(result) = readable(destination(result), result);
    return success();
  }

  LogicalResult lowerOp(vertex::ChildRowsOp op) {
    FailureOr<Operand> source = viewOf(op.getRows(), op);
    if (failed(source))
      return failure();
    Graph &graph = program.graphs[spaces.graphNumber(op.getGraph())];
    graph.arity = std::max<int64_t>(graph.arity, op.getSlot() + 1);
    Operand child = *source;
    if (child.access != Access::row)
      child = materialize(child, op.getRows(), op.getLoc());
    child.access = Access::child;
    child.slot = op.getSlot();
    view(op.getResult()) = child;
    return success();
  }

  LogicalResult lowerOp(vertex::GatherParentRowsOp op) {
    return lowerSumOfParents(op, op.getRows());
  }
  LogicalResult lowerOp(vertex::GatherParentEdgeRowsOp op) {
    return lowerSumOfParents(op, op.getRows());
  }

  LogicalResult lowerSumOfParents(Operation *op, Value scattered) {
    Value result = op->getResult(0);
    Operand place = destination(result);
    Step step(StepKind::sum_parents, op->getLoc());
    step.operands = {views.lookup(scattered), place};
    step.results = 1;
    addStep(std::move(step), running(result));
    view(result) = readable(place, result);
    return success();
  }

  LogicalResult lowerOp(vertex::EdgeChildRowsOp op) {
    return lowerEndOfEdge(op, op.getRows(), Access::edge_child);
  }
  LogicalResult lowerOp(vertex::EdgeParentRowsOp op) {
    return lowerEndOfEdge(op, op.getRows(), Access::edge_parent);
  }

  LogicalResult lowerEndOfEdge(Operation *op, Value rows, Access access) {
    FailureOr<Operand> source = viewOf(rows, op);
    if (failed(source))
      return failure();
    Operand end = *source;
    // What is the same for all vertices is the same for all edges.
    if (end.access != Access::shared) {
      if (end.access != Access::row)
        end = materialize(end, rows, op->getLoc());
      end.access = access;
    }
    view(op->getResult(0)) = end;
    return success();
  }

  LogicalResult lowerOp(vertex::ReduceEdgeRowsOp op) {
    FailureOr<Operand> source = viewOf(op.getRows(), op);
    if (failed(source))
      return failure();
    if (!isa<FloatType>(getElementTypeOrSelf(op.getType())))
      return op.emitOpError("cannot be lowered: children's values of ")
             << getElementTypeOrSelf(op.getType())
             << " cannot be combined; expects f32 or f64";
    Operand edges = *source;
    if (edges.access != Access::row)
      edges = materialize(edges, op.getRows(), op.getLoc());
    Operand place = destination(op.getResult());
    Step step(StepKind::reduce_children, op.getLoc());
    step.reduction = static_cast<model::Reduction>(op.getReduction());
    step.operands = {edges, place};
    step.results = 1;
    addStep(std::move(step), running(op.getResult()));
    view(op.getResult()) = readable(place, op.getResult());
    return success();
  }

  LogicalResult lowerOp(vertex::ReversedTasksOp op) {
    Graph &graph = program.graphs[spaces.graphNumber(op.getGraph())];
    graph.arity = std::max<int64_t>(graph.arity, op.getArity());
    return lowerLoop(op, op.getPlace() == vertex::Place::all
                             ? Rows::tasks_reversed
                             : Rows::inner_tasks_reversed);
  }

  /// Lowers a loop: a phase, or one for each type of vertex.
  template <typename Loop> LogicalResult lowerLoop(Loop op, Rows rows) {
    size_t before = program.phases.size();
    for (auto [index, body] : llvm::enumerate(op.getBodies())) {
      size_t first = program.phases.size();
      if (failed(lowerBody(op, index, body, rows)))
        return failure();
      // The runtime wants a phase for every type.
      if (program.phases.size() == first && op.getBodies().size() > 1)
        program.addEmptyPhase(rows, spaces.graphNumber(op.getGraph()),
                              op.getVertexType(index));
    }
    if (llvm::all_of(ArrayRef(program.phases).drop_front(before),
                     [](const Phase &phase) { return phase.steps.empty(); }))
      program.phases.truncate(before);
    for (Value result : op->getResults())
      view(result) = readable(destination(result), result);
    return success();
  }

  template <typename Loop>
  LogicalResult lowerBody(Loop op, size_t index, Region &body, Rows rows) {
    size_t carried = op.getCarried();
    for (auto [number, argument] : llvm::enumerate(body.getArguments())) {
      if (number < carried) {
        view(argument) = destination(op.getOutputs()[number]);
        continue;
      }
      FailureOr<Operand> eager =
          viewOf(op.getEagerOf(index)[number - carried], op);
      if (failed(eager))
        return failure();
      view(argument) = *eager;
    }
    program.closePhase();
    loop = rows;
    loopType = op.getVertexType(index);
    for (Operation &nested : body.front())
      if (failed(lower(&nested)))
        return failure();
    for (auto [value, result] :
         llvm::zip(body.front().getTerminator()->getOperands(),
                   op.getOutputsOf(index)))
      if (failed(bring(value, destination(result), op)))
        return failure();
    loop.reset();
    program.closePhase();
    return success();
  }

  LogicalResult lowerOp(nn::SumRowsOp op) {
    FailureOr<Operand> source = viewOf(op.getRows(), op);
    if (failed(source))
      return failure();
    Step step(StepKind::sum_rows, op.getLoc());
    step.operands = {*source, sharedPlace(destination(op.getResult()))};
    step.results = 1;
    addStep(std::move(step), running(op.getRows()));
    view(op.getResult()) =
        readable(destination(op.getResult()), op.getResult());
    return success();
  }

  LogicalResult lowerOp(nn::OuterSumOp op) {
    FailureOr<Operand> x = viewOf(op.getX(), op), y = viewOf(op.getY(), op);
    if (failed(x) || failed(y))
      return failure();
    Operand place = sharedPlace(destination(op.getResult()));
    int64_t k = elementsOf(op.getX().getType());
    int64_t n = elementsOf(op.getY().getType());
    if (place.stride == 0)
      place.stride = n;
    place.elements = k && n ? (k - 1) * place.stride + n : 0;
    Step step(StepKind::outer_sum, op.getLoc());
    step.operands = {*x, *y, place};
    step.results = 1;
    addStep(std::move(step), running(op.getX()));
    view(op.getResult()) =
        readable(destination(op.getResult()), op.getResult());
    return success();
  }

  /// Ids as steps read them: where they lie, or through the caller's order.
  Operand idsOf(Operand ids, Value value, Location loc) {
    bool found = ids.access == Access::row || ids.access == Access::caller ||
                 !nn::isRowsType(value.getType());
    return found ? ids : materialize(ids, value, loc);
  }

  LogicalResult lowerOp(nn::CombineRowsOp op) {
    FailureOr<Operand> rows = viewOf(op.getRows(), op);
    FailureOr<Operand> ids = viewOf(op.getIds(), op);
    if (failed(rows) || failed(ids))
      return failure();
    Step step(StepKind::combine_rows, op.getLoc());
    step.operands = {idsOf(*ids, op.getIds(), op.getLoc()), *rows,
                     destination(op.getOwners()), destination(op.getSums())};
    step.results = 2;
    addStep(std::move(step), running(op.getRows()));
    for (Value result : op->getResults())
      view(result) = readable(destination(result), result);
    return success();
  }

  LogicalResult lowerOp(nn::UpdateRowsOp op) {
    auto it = destinations.find(op.getRows());
    if (it == destinations.end() || it->second.access != Access::id)
      return op.emitOpError("cannot be lowered: expects the rows of a "
                            "parameter, made by an elementwise group that is "
                            "the last to read them");
    if (!isMade(op.getTable())) {
      view(op.getResult()) = view(op.getTable());
      destinations[op.getResult()] = view(op.getTable());
      return success();
    }
    view(op.getResult()) = readable(destination(op.getTable()), op.getResult());
    return success();
  }

  /// The only row of a buffer that a reduction writes.
  static Operand sharedPlace(Operand place) {
    place.access = Access::shared;
    return place;
  }

  LogicalResult lowerOp(vertex::GatherRowsOp op) {
    Operand child = views.lookup(op.getState());
    child.access = Access::child;
    child.slot = op.getSlot();
    view(op.getResult()) = child;
    return success();
  }

  LogicalResult lowerOp(vertex::SpreadRowsOp op) {
    FailureOr<Operand> source = viewOf(op.getRow(), op);
    if (failed(source))
      return failure();
    // A reader can share the row; only a place of its own needs it copied.
    auto it = destinations.find(op.getResult());
    if (it == destinations.end()) {
      view(op.getResult()) = *source;
      return success();
    }
    addCopy(*source, it->second, running(op.getResult()), op.getLoc());
    view(op.getResult()) = readable(it->second, op.getResult());
    return success();
  }

  /// Copies `value` to `place` unless it was made there.
  LogicalResult bring(Value value, Operand place, Operation *op) {
    auto it = destinations.find(value);
    if (it != destinations.end() && isMade(value) &&
        it->second.buffer == place.buffer && it->second.column == place.column)
      return success();
    FailureOr<Operand> source = viewOf(value, op);
    if (failed(source))
      return failure();
    if (source->buffer == place.buffer && source->column == place.column &&
        program.buffers[place.buffer].space.rows == Rows::one)
      return success(); // A parameter that nothing has changed, or in place.
    assert(place.stride == 0 && "a copy writes no columns of a matrix");
    place.elements = elementsOf(value.getType());
    addCopy(*source, place, running(value), op->getLoc());
    return success();
  }

  LogicalResult lowerOp(vertex::JoinRowsOp op) {
    Operand place = destination(op.getResult());
    for (Value piece : op.getPieces())
      if (failed(bring(piece, place, op)))
        return failure();
    view(op.getResult()) = readable(place, op.getResult());
    return success();
  }

  LogicalResult lowerOp(vertex::TasksOp op) {
    Graph &graph = program.graphs[spaces.graphNumber(op.getGraph())];
    graph.arity = std::max<int64_t>(graph.arity, op.getArity());
    for (auto [index, init] : llvm::enumerate(op.getInits()))
      if (failed(bring(
              init, destination(op.getOutputs()[index % op.getStates()]), op)))
        return failure();
    return lowerLoop(op, op.getPlace() == vertex::Place::all
                             ? Rows::tasks
                             : Rows::inner_tasks);
  }

  LogicalResult lowerOp(nn::MatmulOp op) {
    FailureOr<Weight> weight = weightOf(op.getWeight(), op);
    FailureOr<Operand> source = viewOf(op.getInput(), op);
    if (failed(weight) || failed(source))
      return failure();
    RowSpace space = running(op.getResult());
    Operand input = *source;
    Operand place = destination(op.getResult());
    if (input.access != Access::row || input.buffer == place.buffer) {
      // A library wants rows that lie one after another, and apart from those
      // that it writes (both may be parts of one concatenation).
      int64_t buffer = program.addBuffer(BufferKind::dynamic, "", space,
                                         rowOf(op.getInput().getType()));
      Operand gathered = rowOperand(buffer, op.getInput().getType());
      addCopy(input, gathered, space, op.getLoc());
      input = gathered;
    }
    Step step(StepKind::matmul, op.getLoc());
    step.operands = {input, place};
    step.results = 1;
    step.weight = program.addWeight(*weight);
    addStep(std::move(step), space);
    view(op.getResult()) = readable(place, op.getResult());
    return success();
  }

  LogicalResult lowerOp(nn::EmbeddingOp op) {
    FailureOr<Operand> table = viewOf(op.getTable(), op);
    FailureOr<Operand> ids = viewOf(op.getIds(), op);
    if (failed(table) || failed(ids))
      return failure();
    BufferKind kind = program.buffers[table->buffer].kind;
    if (kind != BufferKind::parameter && kind != BufferKind::constant &&
        kind != BufferKind::state)
      return op.emitOpError("expects its table to be a parameter or constant");
    Operand place = destination(op.getResult());
    Step step(StepKind::embed, op.getLoc());
    step.operands = {idsOf(*ids, op.getIds(), op.getLoc()), *table, place};
    step.results = 1;
    addStep(std::move(step), running(op.getResult()));
    view(op.getResult()) = readable(place, op.getResult());
    return success();
  }

  /// Whether `op` joins rows of a batch, or vectors.
  static bool isRowConcat(tensor::ConcatOp op) {
    return nn::isRowsType(op.getType()) || rowOf(op.getType()).getRank() == 1;
  }

  LogicalResult lowerOp(tensor::ConcatOp op) {
    if (isWeight(op))
      return success(); // Read by weightOf.
    if (!isMadeInPlace(op))
      return lowerKernel(cast<nn::RowKernelOpInterface>(op.getOperation()));
    for (auto [piece, part] : llvm::zip(op.getInputs(), parts(op)))
      if (failed(bring(piece, part, op)))
        return failure();
    view(op.getResult()) =
        readable(destination(op.getResult()), op.getResult());
    return success();
  }

  LogicalResult lowerOp(tensor::ExtractSliceOp op) {
    if (rowOf(op.getType()).getRank() != 1)
      return success(); // Of a weight: read by weightOf.
    FailureOr<Operand> source = viewOf(op.getSource(), op);
    if (failed(source))
      return failure();
    Operand part = *source;
    part.column += op.getStaticOffsets().back();
    part.elements = elementsOf(op.getType());
    view(op.getResult()) = part;
    return success();
  }

  LogicalResult lowerKernel(nn::RowKernelOpInterface op) {
    Step step(StepKind::launch, op->getLoc());
    SmallVector<bool> indexed;
    for (Value value : op->getOperands()) {
      FailureOr<Operand> operand = viewOf(value, op);
      if (failed(operand))
        return failure();
      step.operands.push_back(*operand);
      indexed.push_back(operand->access != Access::row &&
                        operand->access != Access::shared);
    }
    bool inPlace = false;
    for (Value value : op->getResults()) {
      Operand place = destination(value);
      inPlace |= isKept(place);
      indexed.push_back(place.access == Access::id);
      step.operands.push_back(place);
    }
    auto module = function->getParentOfType<ModuleOp>();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    std::string name =
        (function.getName() + ".kernel" + Twine(kernels++)).str();
    func::FuncOp kernel =
        buildKernel(builder, name, op, indexed, vectorBits, inPlace);
    symbols.insert(kernel);
    step.kernel = kernel.getSymName().str();
    step.results = op->getNumResults();
    if (auto cost = dyn_cast<nn::CostOpInterface>(op.getOperation())) {
      step.flops = cost.getFlops();
      step.bytes = cost.getBytes();
    }
    addStep(std::move(step), running(op->getResult(0)));
    for (Value value : op->getResults())
      view(value) = readable(destination(value), value);
    return success();
  }

  /// Whether `place` outlives the call: it may be read where it is written.
  bool isKept(Operand place) {
    BufferKind kind = program.buffers[place.buffer].kind;
    return kind == BufferKind::parameter || kind == BufferKind::state;
  }

  LogicalResult lowerOp(func::ReturnOp op) {
    program.closePhase();
    // What is returned of parameters are their old values, so they change last;
    // and if one becomes another, that one's old value is put aside.
    SmallVector<std::pair<Value, Operand>> updates;
    for (auto [value, buffer] : llvm::zip(op.getOperands(), outputs)) {
      Operand place = rowOperand(buffer, value.getType());
      if (isKept(place)) {
        FailureOr<Operand> source = viewOf(value, op);
        if (failed(source))
          return failure();
        if (source->buffer == buffer)
          continue; // Updated in place, or not at all.
        if (isKept(*source))
          view(value) =
              readable(materialize(*source, value, op.getLoc()), value);
        updates.push_back({value, place});
        continue;
      }
      if (program.buffers[buffer].space.rows == Rows::caller)
        place.access = Access::caller;
      if (failed(bring(value, place, op)))
        return failure();
    }
    for (auto [value, place] : updates)
      if (failed(bring(value, place, op)))
        return failure();
    return success();
  }

  /// The weight that `value` is: a parameter, or rows and columns of one.
  FailureOr<Weight> weightOf(Value value, Operation *reader) {
    FailureOr<WeightPart> part = readWeight(value, reader);
    if (failed(part))
      return failure();
    FailureOr<Operand> matrix = viewOf(part->matrix, reader);
    if (failed(matrix))
      return failure();
    BufferKind kind = program.buffers[matrix->buffer].kind;
    if (kind != BufferKind::parameter && kind != BufferKind::constant)
      return reader->emitOpError("expects its weight to be a parameter, a "
                                 "constant, or columns of one; weights are "
                                 "packed once, at load");
    return Weight{matrix->buffer, part->row,    part->rows,
                  part->begins,   part->counts, part->transposed};
  }

  func::FuncOp function;
  RowSpaces spaces;
  SymbolTable &symbols;
  unsigned vectorBits;
  Program program;
  std::optional<Rows> loop;
  /// The type of vertices that the loop's body is for.
  std::optional<int64_t> loopType;
  unsigned kernels = 0;
  SmallVector<int64_t> outputs;
  /// Parameters and states by name.
  llvm::StringMap<Value> bound;
  llvm::DenseMap<Value, Operand> views;
  /// Where rows lie in the caller's order, of those that had to be brought
  /// there.
  llvm::DenseMap<Value, Operand> callerOrder;
  llvm::DenseMap<Value, Operand> destinations;
  /// The buffers of multiplicities, by graph and element type.
  llvm::DenseMap<std::pair<int64_t, Type>, int64_t> multiplicities;
  /// Whether a concatenation's pieces are made where it lies.
  llvm::DenseMap<Operation *, bool> inPlace;
};

struct LowerToModelPass
    : espalier::impl::LowerToModelPassBase<LowerToModelPass> {
  using LowerToModelPassBase::LowerToModelPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (Operation &op : *module.getBody())
      if (isa<ModuleOp, vertex::FuncOp>(op)) {
        op.emitOpError("cannot be lowered")
            << (isa<ModuleOp>(op) ? ": a model is one module"
                                  : "; run batch-vertices first");
        return signalPassFailure();
      }
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function->hasAttr(kKernelAttrName))
        continue;
      if (function->hasAttr(plan::kMemoryAttrName)) {
        if (failed(lowerNetwork(function, symbols, vectorBits)))
          return signalPassFailure();
        symbols.remove(function);
        function.erase();
        continue;
      }
      if (failed(checkEntry(function)))
        return signalPassFailure();
      FailureOr<RowSpaces> spaces = RowSpaces::compute(function);
      if (failed(spaces) ||
          failed(EntryLowering(function, *spaces, symbols, vectorBits).run()))
        return signalPassFailure();
      symbols.remove(function);
      function.erase();
    }
  }
};
} // namespace
