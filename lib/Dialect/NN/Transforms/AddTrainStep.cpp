//===- AddTrainStep.cpp - From gradients to updates -----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An optimiser is a formula: from a parameter p, its gradient g and what it
// remembers to their new values. It is written once, as arithmetic on tensors
// of one shape (Formula); a dense parameter takes it as it is, so that fusion
// makes one pass over memory of it, and the table of an embedding takes it as a
// group over the rows that were looked up.
//
// What all formulas share, the factor of the gradient and the length of the
// step, is computed once, on scalars.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/NN/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace espalier::nn;

namespace espalier::nn {
#define GEN_PASS_DEF_ADDTRAINSTEPPASS
#include "espalier/Dialect/NN/Transforms/Passes.h.inc"
} // namespace espalier::nn

namespace {
enum class Optimizer { sgd, momentum, adagrad, adam };

struct OptimizerInfo {
  Optimizer kind;
  /// What it remembers of each parameter, as suffixes of the parameter's name.
  SmallVector<StringRef> states;
};

std::optional<OptimizerInfo> findOptimizer(StringRef name) {
  return llvm::StringSwitch<std::optional<OptimizerInfo>>(name)
      .Case("sgd", OptimizerInfo{Optimizer::sgd, {}})
      .Case("momentum", OptimizerInfo{Optimizer::momentum, {"momentum"}})
      .Case("adagrad", OptimizerInfo{Optimizer::adagrad, {"squares"}})
      .Case("adam", OptimizerInfo{Optimizer::adam, {"mean", "squares"}})
      .Default(std::nullopt);
}

/// Arithmetic on tensors of one type.
class Arithmetic {
public:
  Arithmetic(OpBuilder &builder, Location loc, RankedTensorType type)
      : builder(builder), loc(loc), type(type) {}

  Value number(double value) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            type, builder.getFloatAttr(type.getElementType(), value)));
  }
  /// A scalar in every element.
  Value spread(Value scalar) {
    if (type.getRank() == 0)
      return scalar;
    return BroadcastOp::create(builder, loc, type, scalar);
  }
  Value plus(Value left, Value right) {
    return arith::AddFOp::create(builder, loc, left, right);
  }
  Value minus(Value left, Value right) {
    return arith::SubFOp::create(builder, loc, left, right);
  }
  Value times(Value left, Value right) {
    return arith::MulFOp::create(builder, loc, left, right);
  }
  Value over(Value left, Value right) {
    return arith::DivFOp::create(builder, loc, left, right);
  }
  Value root(Value value) { return math::SqrtOp::create(builder, loc, value); }
  Value power(Value base, Value exponent) {
    return math::PowFOp::create(builder, loc, base, exponent);
  }
  Value absolute(Value value) {
    return math::AbsFOp::create(builder, loc, value);
  }
  Value where(arith::CmpFPredicate predicate, Value left, Value right,
              Value yes, Value no) {
    Value condition =
        arith::CmpFOp::create(builder, loc, predicate, left, right);
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }

private:
  OpBuilder &builder;
  Location loc;
  RankedTensorType type;
};

/// Scalars that all updates share; null where they are not asked for.
struct Shared {
  /// What gradients are multiplied with: the caller's scale, and clipping.
  Value factor;
  Value learningRate, weightDecay;
  /// Adam: 1 / (1 - beta1^t) and 1 / (1 - beta2^t).
  Value meanCorrection, squaresCorrection;
};

class TrainStepBuilder {
public:
  TrainStepBuilder(func::FuncOp step, OptimizerInfo optimizer,
                   const AddTrainStepPassOptions &options)
      : step(step), optimizer(optimizer), options(options),
        builder(step.getContext()), loc(step.getLoc()) {}

  LogicalResult run() {
    Operation *terminator = step.getBody().front().getTerminator();
    builder.setInsertionPoint(terminator);
    if (failed(collect(terminator)))
      return failure();
    if (parameters.empty())
      return step.emitOpError("has no gradient of a parameter to train by; run "
                              "differentiate first");
    scalarType = RankedTensorType::get(
        {}, cast<RankedTensorType>(parameters.front().argument.getType())
                .getElementType());

    Shared shared = buildShared();
    for (const Parameter &parameter : parameters)
      if (parameter.rows)
        updateRows(parameter, shared);
      else
        update(parameter, shared);
    terminator->setOperands(results);
    step.setType(builder.getFunctionType(step.getBody().getArgumentTypes(),
                                         ValueRange(results).getTypes()));
    step.setAllArgAttrs(argumentAttributes);
    step.setAllResultAttrs(resultAttributes);
    return success();
  }

private:
  struct Parameter {
    StringRef name;
    BlockArgument argument;
    /// Dense, or else the rows that `owners` names.
    Value gradient;
    Value rows, owners;
  };

  /// Splits the results into gradients and others.
  LogicalResult collect(Operation *terminator) {
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      argumentAttributes.push_back(step.getArgAttrDict(i)
                                       ? step.getArgAttrDict(i)
                                       : builder.getDictionaryAttr({}));
    llvm::StringMap<BlockArgument> named;
    for (BlockArgument argument : step.getArguments())
      if (auto name = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        "nn.param"))
        named[name.getValue()] = argument;
    for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
      auto of = step.getResultAttrOfType<StringAttr>(number, "nn.gradient");
      if (!of) {
        results.push_back(value);
        resultAttributes.push_back(step.getResultAttrDict(number)
                                       ? step.getResultAttrDict(number)
                                       : builder.getDictionaryAttr({}));
        continue;
      }
      Parameter parameter{
          of.getValue(), named.lookup(of.getValue()), value, {}, {}};
      if (!parameter.argument)
        return step.emitOpError("returns the gradient of '")
               << of.getValue() << "', which is no parameter";
      Type element = cast<RankedTensorType>(value.getType()).getElementType();
      if (!parameters.empty() &&
          element !=
              cast<RankedTensorType>(parameters.front().argument.getType())
                  .getElementType())
        return step.emitOpError("has parameters of different types, which "
                                "cannot be trained together: '")
               << parameters.front().name << "' and '" << parameter.name << "'";
      // The rows of a table that were looked up; no others change.
      auto scatter = value.getDefiningOp<ScatterRowsOp>();
      if (scatter && isRowsType(scatter.getRows().getType())) {
        auto combined = CombineRowsOp::create(
            builder, scatter.getLoc(), scatter.getRows().getType(),
            scatter.getIds().getType(), scatter.getRows(), scatter.getIds());
        parameter.rows = combined.getSums();
        parameter.owners = combined.getOwners();
      }
      parameters.push_back(parameter);
    }
    return success();
  }

  /// Adds an argument.
  Value argument(StringRef attribute, const Twine &name, Type type) {
    Value value = step.getBody().front().addArgument(type, loc);
    argumentAttributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(attribute, builder.getStringAttr(name))));
    return value;
  }

  void result(StringRef attribute, const Twine &name, Value value) {
    results.push_back(value);
    resultAttributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(attribute, builder.getStringAttr(name))));
  }

  Shared buildShared() {
    Arithmetic scalar(builder, loc, scalarType);
    Shared shared;
    shared.learningRate = argument("nn.input", "learning_rate", scalarType);
    shared.factor = argument("nn.input", "gradient_scale", scalarType);
    if (options.decay)
      shared.weightDecay = argument("nn.input", "weight_decay", scalarType);
    if (options.clip) {
      // Too long a gradient is made as long as allowed; 0 allows any length.
      Value longest = argument("nn.input", "clip_norm", scalarType);
      Value length = scalar.times(scalar.root(sumOfSquares()),
                                  scalar.absolute(shared.factor));
      Value clipped = scalar.times(shared.factor, scalar.over(longest, length));
      Value tooLong = scalar.where(arith::CmpFPredicate::OGT, length, longest,
                                   clipped, shared.factor);
      shared.factor = scalar.where(arith::CmpFPredicate::OGT, longest,
                                   scalar.number(0), tooLong, shared.factor);
      result("nn.output", "gradient_norm", length);
    }
    if (optimizer.kind == Optimizer::adam) {
      Value steps = argument("nn.state", "optimizer.steps", scalarType);
      Value one = scalar.number(1);
      Value now = scalar.plus(steps, one);
      auto correction = [&](double beta) {
        return scalar.over(
            one, scalar.minus(one, scalar.power(scalar.number(beta), now)));
      };
      shared.meanCorrection = correction(options.beta1);
      shared.squaresCorrection = correction(options.beta2);
      result("nn.update", "optimizer.steps", now);
    }
    return shared;
  }

  Value sumOfSquares() {
    Value total;
    for (const Parameter &parameter : parameters) {
      Value gradient = parameter.rows ? parameter.rows : parameter.gradient;
      Value squares = arith::MulFOp::create(builder, loc, gradient, gradient);
      Value sum = squares;
      if (cast<RankedTensorType>(squares.getType()).getRank() > 0)
        sum = SumOp::create(builder, loc, squares);
      if (parameter.rows)
        sum = SumRowsOp::create(builder, loc, sum);
      total =
          total ? Value(arith::AddFOp::create(builder, loc, total, sum)) : sum;
    }
    return total;
  }

  /// New values from old ones: `values` has the parameter, then its states.
  SmallVector<Value> buildFormula(Arithmetic &a, ArrayRef<Value> values,
                                  Value gradient, const Shared &shared) {
    Value p = values[0];
    Value g = a.times(gradient, a.spread(shared.factor));
    Value rate = a.spread(shared.learningRate);
    Value decay =
        shared.weightDecay ? a.times(a.spread(shared.weightDecay), p) : Value();
    if (decay && optimizer.kind != Optimizer::adam)
      g = a.plus(g, decay);
    switch (optimizer.kind) {
    case Optimizer::sgd:
      return {a.minus(p, a.times(rate, g))};
    case Optimizer::momentum: {
      Value m = a.plus(a.times(a.number(options.momentum), values[1]), g);
      return {a.minus(p, a.times(rate, m)), m};
    }
    case Optimizer::adagrad: {
      Value s = a.plus(values[1], a.times(g, g));
      Value scaled = a.over(g, a.plus(a.root(s), a.number(options.epsilon)));
      return {a.minus(p, a.times(rate, scaled)), s};
    }
    case Optimizer::adam: {
      auto average = [&](double beta, Value old, Value now) {
        return a.plus(a.times(a.number(beta), old),
                      a.times(a.number(1 - beta), now));
      };
      Value m = average(options.beta1, values[1], g);
      Value s = average(options.beta2, values[2], a.times(g, g));
      Value mean = a.times(m, a.spread(shared.meanCorrection));
      Value squares = a.times(s, a.spread(shared.squaresCorrection));
      Value change =
          a.over(mean, a.plus(a.root(squares), a.number(options.epsilon)));
      // Decoupled, or the decay of large gradients would be small.
      if (decay)
        change = a.plus(change, decay);
      return {a.minus(p, a.times(rate, change)), m, s};
    }
    }
    llvm_unreachable("unknown optimiser");
  }

  /// The parameter, then what the optimiser remembers of it, with their names.
  SmallVector<std::pair<std::string, Value>> valuesOf(const Parameter &p) {
    SmallVector<std::pair<std::string, Value>> values{
        {p.name.str(), p.argument}};
    for (StringRef state : optimizer.states) {
      std::string name = (p.name + "." + state).str();
      values.push_back(
          {name, argument("nn.state", name, p.argument.getType())});
    }
    return values;
  }

  void update(const Parameter &parameter, const Shared &shared) {
    auto named = valuesOf(parameter);
    Arithmetic a(builder, loc,
                 cast<RankedTensorType>(parameter.argument.getType()));
    SmallVector<Value> values(llvm::make_second_range(named));
    SmallVector<Value> updated =
        buildFormula(a, values, parameter.gradient, shared);
    for (auto [old, value] : llvm::zip(named, updated))
      result("nn.update", old.first, value);
  }

  void updateRows(const Parameter &parameter, const Shared &shared) {
    auto named = valuesOf(parameter);
    auto row = getRowType(parameter.rows.getType());
    SmallVector<Value> inputs{parameter.rows};
    for (auto &[name, table] : named)
      inputs.push_back(
          EmbeddingOp::create(builder, loc, table, parameter.owners));
    unsigned tables = named.size();
    Shared inside = shared;
    SmallVector<Value *> scalars;
    for (Value *scalar :
         {&inside.factor, &inside.learningRate, &inside.weightDecay,
          &inside.meanCorrection, &inside.squaresCorrection})
      if (*scalar) {
        inputs.push_back(*scalar);
        scalars.push_back(scalar);
      }
    SmallVector<Type> types(tables, parameter.rows.getType());
    auto group = ElementwiseOp::create(builder, loc, types, inputs);
    {
      OpBuilder::InsertionGuard guard(builder);
      SmallVector<Type> arguments(tables + 1, row);
      arguments.append(scalars.size(), scalarType);
      Block *body =
          builder.createBlock(&group.getBody(), {}, arguments,
                              SmallVector<Location>(arguments.size(), loc));
      for (auto [scalar, argument] :
           llvm::zip(scalars, body->getArguments().take_back(scalars.size())))
        *scalar = argument;
      Arithmetic a(builder, loc, row);
      SmallVector<Value> values(body->getArguments().slice(1, tables));
      YieldOp::create(builder, loc,
                      buildFormula(a, values, body->getArgument(0), inside));
    }
    for (auto [old, rows] : llvm::zip(named, group.getOutputs()))
      result("nn.update", old.first,
             UpdateRowsOp::create(builder, loc, old.second, parameter.owners,
                                  rows));
  }

  func::FuncOp step;
  OptimizerInfo optimizer;
  const AddTrainStepPassOptions &options;
  OpBuilder builder;
  Location loc;
  RankedTensorType scalarType;
  SmallVector<Parameter> parameters;
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
};

struct AddTrainStepPass
    : espalier::nn::impl::AddTrainStepPassBase<AddTrainStepPass> {
  using AddTrainStepPassBase::AddTrainStepPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<OptimizerInfo> info = findOptimizer(optimizer);
    if (!info) {
      module.emitError("has no optimiser '")
          << optimizer << "'; there are sgd, momentum, adagrad and adam";
      return signalPassFailure();
    }
    func::FuncOp gradient;
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      auto isGradient = [&](unsigned i) {
        return bool(function.getResultAttr(i, "nn.gradient"));
      };
      if (!llvm::any_of(llvm::seq(function.getNumResults()), isGradient))
        continue;
      if (gradient) {
        module.emitError("has several functions that return gradients, @")
            << gradient.getSymName() << " and @" << function.getSymName();
        return signalPassFailure();
      }
      gradient = function;
    }
    if (!gradient) {
      module.emitError("has no function that returns gradients; run "
                       "differentiate first");
      return signalPassFailure();
    }
    if (SymbolTable::lookupSymbolIn(module, name)) {
      module.emitError("has a function @") << name << " already";
      return signalPassFailure();
    }
    gradient.setSymName(name);
    AddTrainStepPassOptions options;
    options.clip = clip;
    options.decay = decay;
    options.momentum = momentum;
    options.beta1 = beta1;
    options.beta2 = beta2;
    options.epsilon = epsilon;
    if (failed(TrainStepBuilder(gradient, *info, options).run()))
      signalPassFailure();
  }
};
} // namespace
