//===- LowerNetwork.cpp - Layered networks become steps -------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a planned function everything is decided: operators run in their order,
// and every value has its place. So each operator becomes one step in a phase
// of its own, and each value a buffer at its offset; a reshape or a transpose
// is the buffer that it is a view of. The new value of a parameter is written
// into the parameter's own buffer.
//
//===----------------------------------------------------------------------===//

#include "LowerNetwork.h"

#include "KernelBuilder.h"

#include "espalier/Dialect/Model/IR/Model.h"
#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/Plan/IR/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace espalier;

using model::BufferKind;

/// The kind that the model's tables have for a layer; none for what is no step
/// of the library.
static std::optional<model::LayerKind> kindOf(nn::LayerKind kind) {
  switch (kind) {
  case nn::LayerKind::generated:
  case nn::LayerKind::view:
    return std::nullopt;
  case nn::LayerKind::conv2d:
    return model::LayerKind::conv2d;
  case nn::LayerKind::conv2d_transpose:
    return model::LayerKind::conv2d_transpose;
  case nn::LayerKind::conv2d_weight_adjoint:
    return model::LayerKind::conv2d_weight_adjoint;
  case nn::LayerKind::max_pool2d:
    return model::LayerKind::max_pool2d;
  case nn::LayerKind::max_pool2d_adjoint:
    return model::LayerKind::max_pool2d_adjoint;
  case nn::LayerKind::avg_pool2d:
    return model::LayerKind::avg_pool2d;
  case nn::LayerKind::avg_pool2d_adjoint:
    return model::LayerKind::avg_pool2d_adjoint;
  case nn::LayerKind::batch_norm:
    return model::LayerKind::batch_norm;
  case nn::LayerKind::batch_norm_inference:
    return model::LayerKind::batch_norm_inference;
  case nn::LayerKind::batch_norm_adjoint:
    return model::LayerKind::batch_norm_adjoint;
  case nn::LayerKind::lrn:
    return model::LayerKind::lrn;
  case nn::LayerKind::lrn_adjoint:
    return model::LayerKind::lrn_adjoint;
  case nn::LayerKind::sum_channels:
    return model::LayerKind::sum_channels;
  case nn::LayerKind::spread_channels:
    return model::LayerKind::spread_channels;
  case nn::LayerKind::pad:
    return model::LayerKind::pad;
  case nn::LayerKind::concat:
    return model::LayerKind::concat;
  case nn::LayerKind::slice:
    return model::LayerKind::slice;
  case nn::LayerKind::matmul:
  case nn::LayerKind::dense:
    return model::LayerKind::matmul;
  }
  llvm_unreachable("unknown kind of layer");
}

namespace {
class NetworkLowering {
public:
  NetworkLowering(func::FuncOp function, SymbolTable &symbols,
                  unsigned vectorBits)
      : function(function), symbols(symbols), vectorBits(vectorBits),
        builder(function) {}

  LogicalResult run() {
    auto memory =
        function->getAttrOfType<plan::MemoryAttr>(plan::kMemoryAttrName);
    if (!memory)
      return function.emitOpError("is a layered network without a memory plan; "
                                  "run assign-buffers first");
    auto entry = model::EntryOp::create(
        builder, function.getLoc(), builder.getStringAttr(function.getName()),
        builder.getStrArrayAttr({}), builder.getDenseI64ArrayAttr({}), {}, {},
        {}, {},
        builder.getDenseI64ArrayAttr(
            {memory.getDevice(), memory.getHost(), memory.getBudget()}),
        builder.getStringAttr(memory.getMachine()));
    Block *tables = builder.createBlock(&entry.getBody());
    phases = OpBuilder::atBlockEnd(tables);
    Block &body = function.getBody().front();
    Operation *terminator = body.getTerminator();
    if (failed(bindArguments()) || failed(bindResults(terminator)))
      return failure();
    for (Operation &op : body.without_terminator())
      if (failed(lower(&op)))
        return failure();
    for (model::BufferOp buffer :
         llvm::make_early_inc_range(tables->getOps<model::BufferOp>()))
      if (auto it = until.find(buffer.getBuffer()); it != until.end())
        buffer.setUntil(it->second);
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Buffers
  //===--------------------------------------------------------------------===//

  /// The shape of highest rank that `value` is seen in: a layer over images
  /// needs them, and one over rows takes images for rows.
  static RankedTensorType shapeOf(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    for (Operation *user : value.getUsers())
      if (nn::getViewed(user) == value) {
        RankedTensorType seen = shapeOf(user->getResult(0));
        if (seen.getRank() > type.getRank() && seen.getRank() <= 4)
          type = seen;
      }
    return type;
  }

  Value addBuffer(BufferKind kind, const Twine &name, Value value,
                  std::optional<int64_t> offset, ElementsAttr data = {}) {
    OpBuilder::InsertionGuard guard(builder);
    IntegerAttr place;
    if (offset)
      place = builder.getI64IntegerAttr(*offset);
    Type type = value.getType();
    if (auto host = dyn_cast<plan::HostType>(type))
      type = host.getTensor();
    else
      type = shapeOf(value);
    return model::BufferOp::create(
        builder, value.getLoc(), model::BufferType::get(builder.getContext()),
        kind, name.str(), model::Rows::one, /*graph=*/0, type, data, place,
        IntegerAttr());
  }

  LogicalResult bindArguments() {
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      std::optional<int64_t> offset;
      if (auto known = function.getArgAttrOfType<IntegerAttr>(
              number, plan::kOffsetAttrName))
        offset = known.getInt();
      std::pair<StringRef, BufferKind> kinds[] = {
          {"nn.input", BufferKind::input},
          {"nn.param", BufferKind::parameter},
          {"nn.state", BufferKind::state}};
      Value buffer;
      for (auto [attribute, kind] : kinds)
        if (auto name =
                function.getArgAttrOfType<StringAttr>(number, attribute)) {
          if (!names.insert(name.getValue()).second)
            return function.emitOpError("has two arguments named '")
                   << name.getValue() << "'";
          buffer = addBuffer(kind, name.getValue(), argument, offset);
          if (kind != BufferKind::input)
            parameters[name.getValue()] = argument;
        }
      if (!buffer)
        return function.emitOpError("argument #")
               << number << " of entry @" << function.getName()
               << " has no name; give it nn.input or nn.param";
      buffers[argument] = buffer;
    }
    return success();
  }

  /// Values that are made where a result of the entry is.
  LogicalResult bindResults(Operation *terminator) {
    llvm::StringSet<> outputs;
    for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
      Value storage = plan::storageOf(value);
      if (auto update =
              function.getResultAttrOfType<StringAttr>(number, "nn.update")) {
        Value parameter = parameters.lookup(update.getValue());
        if (!parameter)
          return function.emitOpError("result #")
                 << number << " updates '" << update.getValue()
                 << "', which is no parameter or state";
        if (storage != parameter &&
            failed(setHome(number, storage, buffers.lookup(parameter))))
          return failure();
        continue;
      }
      auto name = function.getResultAttrOfType<StringAttr>(number, "nn.output");
      if (!name)
        return function.emitOpError("result #")
               << number << " of entry @" << function.getName()
               << " has no name; give it nn.output";
      if (!outputs.insert(name.getValue()).second)
        return function.emitOpError("has two results named '")
               << name.getValue() << "'";
      Value buffer = addBuffer(BufferKind::output, name.getValue(), storage,
                               offsetOf(storage));
      if (failed(setHome(number, storage, buffer)))
        return failure();
    }
    return success();
  }

  /// `storage`, which result `number` is, is made in `buffer`.
  LogicalResult setHome(unsigned number, Value storage, Value buffer) {
    Operation *op = storage.getDefiningOp();
    if (op && !op->hasTrait<OpTrait::ConstantLike>() &&
        homes.try_emplace(storage, buffer).second)
      return success();
    return function.emitOpError("result #")
           << number << " is not made by an operator for that alone; run "
           << "separate-results first";
  }

  static std::optional<int64_t> offsetOf(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    auto offsets = op->getAttrOfType<DenseI64ArrayAttr>(plan::kOffsetsAttrName);
    int64_t offset =
        offsets ? offsets[cast<OpResult>(value).getResultNumber()] : -1;
    if (offset < 0)
      return std::nullopt;
    return offset;
  }

  /// The buffer that `result` is made in.
  FailureOr<Value> define(OpResult result, BufferKind kind) {
    Value home = homes.lookup(result);
    if (!home) {
      std::optional<int64_t> offset = offsetOf(result);
      if (!offset)
        return result.getOwner()->emitOpError("cannot be lowered: result #")
               << result.getResultNumber()
               << " has no place; run assign-buffers first";
      home = addBuffer(kind, plan::getOperatorName(result.getOwner()), result,
                       offset);
    }
    buffers[result] = home;
    return home;
  }

  Value bufferOf(Value value) const {
    return buffers.lookup(plan::storageOf(value));
  }

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  /// A phase for the step that `build` makes.
  void addStep(Location loc, StringRef name,
               llvm::function_ref<void(OpBuilder &)> build) {
    auto phase = model::PhaseOp::create(phases, loc, name, model::Rows::one,
                                        /*graph=*/0, IntegerAttr());
    if (steps++ == 0)
      builder.setInsertionPoint(phase); // buffers come first
    OpBuilder inside(phase.getContext());
    inside.createBlock(&phase.getBody());
    build(inside);
  }

  LogicalResult lower(Operation *op) {
    if (plan::getViewed(op) || plan::getSlicedInput(op))
      return success();
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      Value result = constant.getResult();
      buffers[result] =
          addBuffer(BufferKind::constant, "constant", result, offsetOf(result),
                    cast<ElementsAttr>(constant.getValue()));
      return success();
    }
    if (auto release = dyn_cast<plan::ReleaseOp>(op)) {
      until[bufferOf(release.getTensor())] = steps - 1;
      return success();
    }
    if (auto offload = dyn_cast<plan::OffloadOp>(op)) {
      FailureOr<Value> target =
          define(cast<OpResult>(offload.getResult()), BufferKind::host);
      if (failed(target))
        return failure();
      addStep(op->getLoc(), "offload", [&](OpBuilder &inside) {
        model::OffloadOp::create(inside, op->getLoc(),
                                 bufferOf(offload.getTensor()), *target);
      });
      return success();
    }
    if (auto prefetch = dyn_cast<plan::PrefetchOp>(op)) {
      FailureOr<Value> target =
          define(cast<OpResult>(prefetch.getResult()), BufferKind::dynamic);
      if (failed(target))
        return failure();
      if (std::optional<int64_t> offset = offsetOf(prefetch.getResult()))
        fetchedAt[*offset] = prefetch.getResult();
      // All of what is there, or some rows of an input.
      Value source = prefetch.getSource();
      int64_t column = 0;
      if (Operation *slice = source.getDefiningOp())
        if (BlockArgument input = plan::getSlicedInput(slice)) {
          auto type = cast<RankedTensorType>(input.getType());
          column = plan::getFirstRow(slice) *
                   ShapedType::getNumElements(type.getShape().drop_front());
          source = input;
        }
      addStep(op->getLoc(), "prefetch", [&](OpBuilder &inside) {
        model::PrefetchOp::create(inside, op->getLoc(), buffers.lookup(source),
                                  *target, column);
      });
      return success();
    }
    for (OpResult result : op->getResults()) {
      if (Value old = updatedCopy(result))
        buffers[result] = bufferOf(old);
      else if (failed(define(result, BufferKind::dynamic)))
        return failure();
    }
    auto layer = dyn_cast<nn::LayerOpInterface>(op);
    if (layer && kindOf(layer.getLayer().kind))
      return lowerLayer(layer);
    if (auto kernel = dyn_cast<nn::RowKernelOpInterface>(op))
      return lowerKernel(kernel);
    return op->emitOpError("cannot be lowered in a layered network");
  }

  /// What `result` is the new value of, if that is a parameter that was
  /// fetched: an operand, or what is still there although nobody reads it.
  Value updatedCopy(OpResult result) {
    std::optional<int64_t> offset = offsetOf(result);
    Value old = offset ? fetchedAt.lookup(*offset) : Value();
    Operation *op = result.getOwner();
    if (!old || old.getType() != result.getType() ||
        !llvm::any_of(old.getUsers(), [&](Operation *user) {
          return user == op || op->isBeforeInBlock(user);
        }))
      return {};
    return old;
  }

  LogicalResult lowerLayer(nn::LayerOpInterface op) {
    nn::Layer layer = op.getLayer();
    model::LayerKind kind = *kindOf(layer.kind);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(bufferOf(operand));
    for (Value result : op->getResults())
      operands.push_back(bufferOf(result));
    auto isTransposed = [&](unsigned operand) {
      return bool(op->getOperand(operand).getDefiningOp<nn::TransposeOp>());
    };
    addStep(op->getLoc(), plan::getOperatorName(op), [&](OpBuilder &inside) {
      auto step = model::LayerOp::create(
          inside, op->getLoc(), kind, operands, op->getNumResults(),
          nn::getTotalFlops(op), nn::getTotalBytes(op));
      step.setWindow(layer.window);
      step.setStrides(layer.strides);
      step.setDilations(layer.dilations);
      step.setPadding(layer.padding);
      SmallVector<int64_t> offsets(layer.offsets);
      offsets.resize(4, 0);
      step.setOffsets(offsets);
      step.setGroups(layer.groups);
      step.setAxis(layer.axis);
      step.setSize(layer.size);
      step.setEpsilon(APFloat(layer.epsilon));
      step.setAlpha(APFloat(layer.alpha));
      step.setBeta(APFloat(layer.beta));
      step.setBias(APFloat(layer.bias));
      step.setValue(APFloat(layer.value));
      step.setCountPadding(layer.countPadding);
      if (kind == model::LayerKind::matmul) {
        step.setTransposeA(layer.transposeA != isTransposed(0));
        step.setTransposeB(isTransposed(1));
      }
      if (auto name = op->getAttrOfType<StringAttr>(plan::kAlgorithmAttrName))
        for (const nn::Algorithm &algorithm : op.getAlgorithms())
          if (nn::getName(algorithm.kind) == name.getValue())
            step.setAlgorithm(static_cast<int64_t>(algorithm.kind));
      if (auto workspace =
              op->getAttrOfType<DenseI64ArrayAttr>(plan::kWorkspaceAttrName))
        step.setWorkspaceAttr(workspace);
    });
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Kernels
  //===--------------------------------------------------------------------===//

  /// How many rows of the batch a kernel runs over, and which operands, and
  /// then results, have one row for all.
  struct KernelRows {
    int64_t count = 0;
    SmallVector<bool> shared;
  };

  static KernelRows rowsOf(Operation *op) {
    KernelRows rows;
    auto extent = [](Value value) {
      auto type = cast<RankedTensorType>(value.getType());
      return type.getRank() > 0 ? type.getDimSize(0) : 0;
    };
    if (isa<nn::ElementwiseOp>(op)) {
      // Rows are only for threads to share; scalars are the same for all.
      Type type = op->getResult(0).getType();
      for (Value value : op->getOperands())
        rows.shared.push_back(value.getType() != type);
      rows.shared.append(op->getNumResults(), false);
      bool isCut = cast<RankedTensorType>(type).getRank() > 1 &&
                   extent(op->getResult(0)) > 1 &&
                   llvm::all_of(op->getResultTypes(),
                                [&](Type other) { return other == type; }) &&
                   llvm::all_of(op->getOperands(), [&](Value value) {
                     auto operand = cast<RankedTensorType>(value.getType());
                     return operand.getShape() ==
                                cast<RankedTensorType>(type).getShape() ||
                            operand.getRank() == 0;
                   });
      if (isCut) {
        for (auto [number, value] : llvm::enumerate(op->getOperands()))
          rows.shared[number] =
              cast<RankedTensorType>(value.getType()).getRank() == 0;
        rows.count = extent(op->getResult(0));
      }
    } else if (nn::Cuts cuts = nn::getCuts(op); cuts.areThere()) {
      for (nn::Cut cut : cuts.operands)
        rows.shared.push_back(cut == nn::Cut::whole);
      for (nn::Cut cut : cuts.results)
        rows.shared.push_back(cut == nn::Cut::whole);
      for (auto [cut, value] : llvm::zip(cuts.results, op->getResults()))
        if (cut == nn::Cut::rows)
          rows.count = extent(value);
    }
    if (rows.count == 0)
      rows.shared.assign(op->getNumOperands() + op->getNumResults(), true);
    return rows;
  }

  /// `type` with its leading dimension dynamic: rows, as kernels know them.
  static RankedTensorType asRows(Type type) {
    auto rows = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(rows.getShape());
    shape[0] = ShapedType::kDynamic;
    return RankedTensorType::get(shape, rows.getElementType());
  }

  /// `op` over rows, which is only there for the kernel to be read off it.
  static Operation *buildOverRows(OpBuilder &builder, Operation *op,
                                  const KernelRows &rows) {
    SmallVector<Value> operands;
    for (auto [number, value] : llvm::enumerate(op->getOperands()))
      operands.push_back(rows.shared[number]
                             ? value
                             : tensor::CastOp::create(builder, op->getLoc(),
                                                      asRows(value.getType()),
                                                      value)
                                   .getResult());
    Operation *over = builder.clone(*op);
    over->setOperands(operands);
    for (auto [number, value] : llvm::enumerate(over->getResults()))
      if (!rows.shared[op->getNumOperands() + number])
        value.setType(asRows(value.getType()));
    // The body of a group says what happens to one row.
    if (over->getNumRegions() > 0) {
      auto whole = cast<RankedTensorType>(op->getResult(0).getType());
      nn::reshapeBody(over, whole.getShape(), whole.getShape().drop_front());
    }
    return over;
  }

  LogicalResult lowerKernel(nn::RowKernelOpInterface op) {
    KernelRows rows = rowsOf(op);
    bool inPlace = false;
    SmallVector<Value> values(op->getOperands());
    llvm::append_range(values, op->getResults());
    SmallVector<Value> operands;
    SmallVector<Attribute> places;
    for (auto [number, value] : llvm::enumerate(values)) {
      auto type = cast<RankedTensorType>(value.getType());
      int64_t elements = type.getNumElements();
      bool shared = rows.shared[number];
      if (!shared)
        elements /= std::max<int64_t>(1, rows.count);
      operands.push_back(bufferOf(value));
      places.push_back(model::OperandAttr::get(
          builder.getContext(),
          shared ? model::Access::shared : model::Access::row, /*slot=*/0,
          /*column=*/0, elements, /*stride=*/0));
    }
    for (Value result : op->getResults())
      for (Value operand : op->getOperands())
        inPlace |= mayOverlap(bufferOf(result), bufferOf(operand));

    auto module = function->getParentOfType<ModuleOp>();
    OpBuilder end = OpBuilder::atBlockEnd(module.getBody());
    OpBuilder before(op);
    Operation *over =
        rows.count ? buildOverRows(before, op, rows) : op.getOperation();
    SmallVector<bool> indexed(values.size(), false);
    func::FuncOp kernel =
        buildKernel(end, "kernel", cast<nn::RowKernelOpInterface>(over),
                    indexed, vectorBits, inPlace);
    kernel = shareKernel(kernel);
    if (over != op) {
      SmallVector<Operation *> casts;
      for (Value operand : over->getOperands())
        if (auto cast = operand.getDefiningOp<tensor::CastOp>())
          casts.push_back(cast);
      over->erase();
      for (Operation *cast : casts)
        cast->erase();
    }
    IntegerAttr count;
    if (rows.count)
      count = builder.getI64IntegerAttr(rows.count);
    addStep(op->getLoc(), plan::getOperatorName(op), [&](OpBuilder &inside) {
      model::LaunchOp::create(inside, op->getLoc(), kernel.getSymName(),
                              operands, ValueRange(),
                              builder.getArrayAttr(places), op->getNumResults(),
                              nn::getTotalFlops(op), nn::getTotalBytes(op),
                              /*over_edges=*/false, count);
    });
    return success();
  }

  /// The kernel that `kernel` is to be: one that is the same, if there is one.
  /// Deep networks repeat a few kernels thousands of times.
  func::FuncOp shareKernel(func::FuncOp kernel) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel->print(stream, OpPrintingFlags().useLocalScope());
    auto [known, isNew] = kernels.try_emplace(text, kernel);
    if (!isNew) {
      kernel.erase();
      return known->second;
    }
    kernel.setSymName(
        (function.getName() + ".kernel" + Twine(kernels.size() - 1)).str());
    symbols.insert(kernel);
    return kernel;
  }

  /// Whether the two are one buffer, or lie at the same offset.
  static bool mayOverlap(Value buffer, Value other) {
    auto first = buffer.getDefiningOp<model::BufferOp>();
    auto second = other.getDefiningOp<model::BufferOp>();
    return first == second || (first.getOffset() && second.getOffset() &&
                               *first.getOffset() == *second.getOffset());
  }

  func::FuncOp function;
  SymbolTable &symbols;
  unsigned vectorBits;
  /// In the entry: where the next buffer and the next phase go.
  OpBuilder builder;
  OpBuilder phases{function.getContext()};
  /// By what they do.
  llvm::StringMap<func::FuncOp> kernels;
  int64_t steps = 0;
  llvm::StringSet<> names;
  llvm::StringMap<Value> parameters;
  /// By value that has memory of its own.
  llvm::DenseMap<Value, Value> buffers;
  /// By offset: what was fetched there last.
  llvm::DenseMap<int64_t, Value> fetchedAt;
  /// The buffers of results and parameters that values are made in.
  llvm::DenseMap<Value, Value> homes;
  llvm::DenseMap<Value, int64_t> until;
};
} // namespace

LogicalResult espalier::lowerNetwork(func::FuncOp function,
                                     SymbolTable &symbols,
                                     unsigned vectorBits) {
  return NetworkLowering(function, symbols, vectorBits).run();
}
