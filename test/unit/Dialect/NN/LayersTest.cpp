//===- LayersTest.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What operators say by LayerOpInterface. Cuts are tried: an operator that is
// interpreted for two parts of the batch has to give, put together as its cuts
// say, what it gives for the whole.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Reference/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace espalier;
using nn::Cut;
using reference::Array;

namespace {
class LayersTest : public ::testing::Test {
protected:
  LayersTest() {
    DialectRegistry registry;
    registry.insert<nn::NNDialect, arith::ArithDialect, func::FuncDialect,
                    math::MathDialect, tensor::TensorDialect>();
    nn::registerLayerUpstreamOps(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// A function of one operator: `types` are those of its operands %0, %1, ...
  /// and `results` those of its results. Every B is the size of the batch.
  struct Case {
    std::string types, op, results;
  };

  OwningOpRef<ModuleOp> parse(const Case &of, int64_t batch) {
    SmallVector<StringRef> types;
    StringRef(of.types).split(types, "; ");
    std::string arguments;
    for (auto [index, type] : llvm::enumerate(types))
      arguments +=
          (index ? ", %" : "%") + std::to_string(index) + ": " + type.str();
    SmallVector<StringRef> results;
    StringRef(of.results).split(results, ", ");
    std::string values;
    for (size_t index = 0; index != results.size(); ++index)
      values += (index ? ", %r#" : "%r#") + std::to_string(index);
    std::string text = "func.func @main(" + arguments + ") -> (" + of.results +
                       ") {\n%r:" + std::to_string(results.size()) + " = " +
                       of.op + "\nreturn " + values + " : " + of.results +
                       "\n}";
    for (size_t at; (at = text.find("<Bx")) != std::string::npos;)
      text.replace(at, 2, "<" + std::to_string(batch));
    for (size_t at; (at = text.find("B,")) != std::string::npos;)
      text.replace(at, 1, std::to_string(batch));
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return module;
  }

  static Operation *operatorOf(ModuleOp module) {
    return &module.lookupSymbol<func::FuncOp>("main").getBody().front().front();
  }

  static std::vector<Array> interpret(ModuleOp module,
                                      std::vector<Array> arguments) {
    auto results = reference::interpret(
        module.lookupSymbol<func::FuncOp>("main"), {}, std::move(arguments));
    EXPECT_TRUE(succeeded(results));
    return succeeded(results) ? *results : std::vector<Array>();
  }

  Array randomArray(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    Array array = Array::zeros(tensor.getShape().vec());
    std::uniform_real_distribution<double> real(0.1, 2);
    std::uniform_int_distribution<int> whole(-1, 1);
    for (double &element : array.data)
      element = isa<FloatType>(tensor.getElementType()) ? real(generator)
                                                        : whole(generator);
    return array;
  }

  static Array rowsOf(const Array &array, int64_t begin, int64_t end) {
    Array part{array.shape, {}};
    int64_t row = (int64_t)array.data.size() / array.shape[0];
    part.shape[0] = end - begin;
    part.data.assign(array.data.begin() + begin * row,
                     array.data.begin() + end * row);
    return part;
  }

  void expectCuts(const Case &of) {
    SCOPED_TRACE(of.op);
    constexpr int64_t kBatch = 5, kFirst = 2;
    OwningOpRef<ModuleOp> whole = parse(of, kBatch);
    nn::Cuts cuts = nn::getCuts(operatorOf(*whole));
    ASSERT_TRUE(cuts.areThere());
    std::vector<Array> arguments;
    for (Value operand : operatorOf(*whole)->getOperands())
      arguments.push_back(randomArray(operand.getType()));
    ASSERT_EQ(cuts.operands.size(), arguments.size());
    std::vector<Array> expected = interpret(*whole, arguments);
    ASSERT_EQ(cuts.results.size(), expected.size());

    std::vector<Array> found(expected.size());
    for (auto [begin, end] :
         {std::pair(int64_t(0), kFirst), std::pair(kFirst, kBatch)}) {
      OwningOpRef<ModuleOp> part = parse(of, end - begin);
      expectClone(operatorOf(*whole), operatorOf(*part), end - begin);
      std::vector<Array> own;
      for (auto [cut, array] : llvm::zip(cuts.operands, arguments))
        own.push_back(cut == Cut::rows ? rowsOf(array, begin, end) : array);
      std::vector<Array> results = interpret(*part, own);
      ASSERT_EQ(results.size(), expected.size());
      for (auto [cut, sum, result] : llvm::zip(cuts.results, found, results)) {
        ASSERT_NE(cut, Cut::whole);
        if (begin == 0)
          sum = result;
        else if (cut == Cut::rows)
          sum.data.insert(sum.data.end(), result.data.begin(),
                          result.data.end());
        else
          for (auto [element, term] : llvm::zip(sum.data, result.data))
            element += term;
      }
    }
    for (auto [result, array] : llvm::zip(expected, found)) {
      ASSERT_EQ(result.data.size(), array.data.size());
      for (auto [element, other] : llvm::zip(result.data, array.data))
        EXPECT_NEAR(element, other, 1e-12 * (1 + std::abs(element)));
    }
  }

  /// A copy of `op` for so many rows is what was written for them.
  static void expectClone(Operation *op, Operation *written, int64_t rows) {
    OpBuilder builder(written);
    Operation *clone =
        nn::cloneForRows(builder, op, written->getOperands(), rows);
    EXPECT_TRUE(OperationEquivalence::isEquivalentTo(
        clone, written, OperationEquivalence::IgnoreLocations));
    clone->erase();
  }

  /// What `op` of `of` builds with cuts has them, and gives the same.
  void expectBuildsWithCuts(const Case &of) {
    SCOPED_TRACE(of.op);
    OwningOpRef<ModuleOp> module = parse(of, 5);
    Operation *op = operatorOf(*module);
    std::vector<Array> arguments;
    for (Value operand : op->getOperands())
      arguments.push_back(randomArray(operand.getType()));
    std::vector<Array> expected = interpret(*module, arguments);
    OpBuilder builder(op);
    SmallVector<Value> built =
        cast<nn::LayerOpInterface>(op).buildWithCuts(builder);
    ASSERT_EQ(built.size(), op->getNumResults());
    op->replaceAllUsesWith(built);
    op->erase();
    for (Operation &part : *builder.getBlock())
      EXPECT_TRUE(part.hasTrait<OpTrait::ConstantLike>() ||
                  part.hasTrait<OpTrait::IsTerminator>() ||
                  nn::getCuts(&part).areThere());
    std::vector<Array> found = interpret(*module, arguments);
    ASSERT_EQ(found.size(), expected.size());
    for (auto [array, other] : llvm::zip(expected, found)) {
      ASSERT_EQ(array.data.size(), other.data.size());
      for (auto [element, same] : llvm::zip(array.data, other.data))
        EXPECT_NEAR(element, same, 1e-12 * (1 + std::abs(element)));
    }
  }

  void expectNoCuts(const Case &of) {
    SCOPED_TRACE(of.op);
    OwningOpRef<ModuleOp> module = parse(of, 5);
    EXPECT_FALSE(nn::getCuts(operatorOf(*module)).areThere());
  }

  MLIRContext context;
  std::mt19937 generator{1};
};

const std::string kX = "tensor<Bx4x6x6xf64>", kRows = "tensor<Bx6xf64>",
                  kScalars = "tensor<Bxf64>", kNumbers = "tensor<Bxi32>";

TEST_F(LayersTest, Cuts) {
  const std::string W = "tensor<4x4x3x3xf64>", c = "tensor<4xf64>";
  const std::string D = "tensor<Bx4x4x4xf64>", P = "tensor<Bx4x3x3xf64>";
  expectCuts({kX + "; " + W + "; " + c,
              "nn.conv2d %0, %1 bias %2 : " + kX + ", " + W + ", " + c, D});
  expectCuts({D + "; " + W,
              "nn.conv2d_transpose %0, %1 : " + D + ", " + W + " -> " + kX,
              kX});
  expectCuts({kX + "; " + D,
              "nn.conv2d_weight_adjoint %0, %1 : " + kX + ", " + D + " -> " + W,
              W});
  expectCuts(
      {kX, "nn.max_pool2d %0 {window = [2, 2], strides = [2, 2]} : " + kX, P});
  expectCuts({kX + "; " + P,
              "nn.max_pool2d_adjoint %0, %1 {window = [2, 2], strides = [2, "
              "2]} : " +
                  kX + ", " + P,
              kX});
  expectCuts({kX, "nn.avg_pool2d %0 {window = [3, 3]} : " + kX, D});
  expectCuts({D,
              "nn.avg_pool2d_adjoint %0 {window = [3, 3]} : " + D + " -> " + kX,
              kX});
  expectCuts({kX + "; " + c + "; " + c + "; " + c + "; " + c,
              "nn.batch_norm_inference %0, %1, %2, %3, %4 : " + kX + ", " + c,
              kX});
  expectCuts({kX, "nn.lrn %0 : " + kX, kX});
  expectCuts({kX + "; " + kX, "nn.lrn_adjoint %0, %1 : " + kX, kX});
  expectCuts({kX, "nn.sum_channels %0 : " + kX, c});
  expectCuts({c, "nn.spread_channels %0 : " + c + " -> " + kX, kX});
  expectCuts({kX, "nn.pad %0 {padding = [1, 0, 1, 2]} : " + kX,
              "tensor<Bx4x8x8xf64>"});
}

TEST_F(LayersTest, CutsOfRows) {
  const std::string W = "tensor<6x3xf64>", b = "tensor<3xf64>",
                    r = "tensor<6xf64>", Y = "tensor<Bx3xf64>";
  expectCuts({kRows + "; " + W, "nn.matmul %0, %1 : " + kRows + ", " + W, Y});
  expectCuts({kRows + "; " + W + "; " + b,
              "nn.dense %0, %1, %2 : " + kRows + ", " + W + ", " + b, Y});
  expectCuts(
      {kRows + "; " + Y, "nn.outer_sum %0, %1 : " + kRows + ", " + Y, W});
  expectCuts({kRows, "nn.sum_rows %0 : " + kRows, r});
  expectCuts({kScalars, "nn.sum_rows %0 : " + kScalars, "tensor<f64>"});
  expectCuts({kX, "nn.sum %0 : " + kX, "tensor<f64>"});
  expectCuts(
      {"tensor<f64>", "nn.broadcast %0 : tensor<f64> -> " + kRows, kRows});
  expectCuts({kRows, "nn.softmax %0 : " + kRows, kRows});
  expectCuts(
      {kRows + "; " + kRows, "nn.softmax_adjoint %0, %1 : " + kRows, kRows});
  expectCuts({kRows + "; " + r + "; " + r,
              "nn.layer_norm %0, %1, %2 : " + kRows + ", " + r, kRows});
  expectCuts({kRows + "; " + r + "; " + kRows,
              "nn.layer_norm_adjoint %0, %1, %2 : " + kRows + ", " + r,
              kRows + ", " + kRows});
  expectCuts({kRows + "; " + kRows + "; " + kRows,
              "nn.layer_norm %0, %1, %2 : " + kRows + ", " + kRows, kRows});
  expectCuts({kRows + "; " + kNumbers,
              "nn.softmax_cross_entropy %0, %1 : " + kRows + ", " + kNumbers,
              kScalars});
  expectCuts({kRows + "; " + kNumbers + "; " + kScalars,
              "nn.softmax_cross_entropy_adjoint %0, %1, %2 : " + kRows + ", " +
                  kNumbers + ", " + kScalars,
              kRows});
  expectCuts({kRows + "; tensor<Bx6xi32>",
              "nn.binary_cross_entropy %0, %1 : " + kRows + ", tensor<Bx6xi32>",
              kScalars});
  expectCuts({kRows + "; tensor<Bx6xi32>; " + kScalars,
              "nn.binary_cross_entropy_adjoint %0, %1, %2 : " + kRows +
                  ", tensor<Bx6xi32>, " + kScalars,
              kRows});
  expectCuts({kRows + "; " + kNumbers,
              "nn.correct %0, %1 : " + kRows + ", " + kNumbers, kNumbers});
  expectCuts(
      {W + "; " + kNumbers, "nn.embedding %0[%1] : " + W + ", " + kNumbers, Y});
  expectCuts({Y + "; " + kNumbers,
              "nn.scatter_rows %0 by %1 : " + Y + ", " + kNumbers + " -> " + W,
              W});
  // What is dropped of an image is a matter of its number, not of its place.
  expectCuts({kX + "; tensor<i32>; " + kNumbers,
              "nn.dropout %0, %1, %2 {probability = 0.5} : " + kX +
                  ", tensor<i32>, " + kNumbers,
              kX});
}

TEST_F(LayersTest, CutsOfUpstreamOperators) {
  expectCuts({kX + "; " + kX, "arith.addf %0, %1 : " + kX, kX});
  expectCuts({kX, "nn.relu %0 : " + kX, kX});
  expectCuts({kX + "; " + kX,
              "tensor.concat dim(1) %0, %1 : (" + kX + ", " + kX +
                  ") -> tensor<Bx8x6x6xf64>",
              "tensor<Bx8x6x6xf64>"});
  expectCuts({kX,
              "tensor.extract_slice %0[0, 1, 0, 0] [B, 2, 6, 6] [1, 1, 1, 1] "
              ": " +
                  kX + " to tensor<Bx2x6x6xf64>",
              "tensor<Bx2x6x6xf64>"});
  expectCuts({kX,
              "tensor.collapse_shape %0 [[0], [1, 2, 3]] : " + kX +
                  " into tensor<Bx144xf64>",
              "tensor<Bx144xf64>"});
  expectCuts({kRows,
              "tensor.expand_shape %0 [[0], [1, 2]] output_shape [B, 2, 3] : " +
                  kRows + " into tensor<Bx2x3xf64>",
              "tensor<Bx2x3xf64>"});
  expectCuts({kRows + "; tensor<f64>",
              "nn.elementwise(%0, %1) : (" + kRows + ", tensor<f64>) -> " +
                  kRows + " {\n^bb0(%p: " + kRows +
                  ", %q: tensor<f64>):\n%c = arith.constant dense<2.0> : " +
                  kRows + "\n%b = nn.broadcast %q : tensor<f64> -> " + kRows +
                  "\n%s = arith.mulf %p, %c : " + kRows +
                  "\n%t = arith.addf %s, %b : " + kRows +
                  "\nnn.yield %t : " + kRows + "\n}",
              kRows});
}

TEST_F(LayersTest, NoCuts) {
  const std::string c = "tensor<4xf64>";
  // The statistics are those of the whole batch.
  expectNoCuts({kX + "; " + c + "; " + c,
                "nn.batch_norm %0, %1, %2 : " + kX + ", " + c,
                kX + ", " + c + ", " + c});
  expectNoCuts({kX + "; " + c + "; " + c + "; " + c + "; " + kX,
                "nn.batch_norm_adjoint %0, %1, %2, %3, %4 : " + kX + ", " + c,
                kX + ", " + c + ", " + c});
  // All of it is one row, in which every element has its place.
  expectNoCuts({kX + "; tensor<i32>; tensor<i32>",
                "nn.dropout %0, %1, %2 {probability = 0.5} : " + kX +
                    ", tensor<i32>, tensor<i32>",
                kX});
  expectNoCuts({kX + "; " + kX,
                "tensor.concat dim(0) %0, %1 : (" + kX + ", " + kX +
                    ") -> tensor<10x4x6x6xf64>",
                "tensor<10x4x6x6xf64>"});
  expectNoCuts({kX,
                "tensor.collapse_shape %0 [[0, 1], [2, 3]] : " + kX +
                    " into tensor<20x36xf64>",
                "tensor<20x36xf64>"});
  expectNoCuts(
      {"tensor<6xf64>", "nn.softmax %0 : tensor<6xf64>", "tensor<6xf64>"});
}

TEST_F(LayersTest, BuildsWithCuts) {
  for (const auto &[x, c] : {std::pair(kX, std::string("tensor<4xf64>")),
                             std::pair(kRows, std::string("tensor<6xf64>"))}) {
    expectBuildsWithCuts(
        {x + "; " + c + "; " + c,
         "nn.batch_norm %0, %1, %2 {epsilon = 1.0e-2} : " + x + ", " + c,
         x + ", " + c + ", " + c});
    expectBuildsWithCuts({x + "; " + c + "; " + c + "; " + c + "; " + x,
                          "nn.batch_norm_adjoint %0, %1, %2, %3, %4 {epsilon = "
                          "1.0e-2} : " +
                              x + ", " + c,
                          x + ", " + c + ", " + c});
  }
  // What has cuts is split as it is; what mixes samples stays whole.
  for (const Case &of : {Case{kX, "nn.max_pool2d %0 {window = [6, 6]} : " + kX,
                              "tensor<Bx4x1x1xf64>"},
                         Case{kX + "; " + kX,
                              "tensor.concat dim(0) %0, %1 : (" + kX + ", " +
                                  kX + ") -> tensor<10x4x6x6xf64>",
                              "tensor<10x4x6x6xf64>"}}) {
    OwningOpRef<ModuleOp> module = parse(of, 5);
    OpBuilder builder(operatorOf(*module));
    EXPECT_TRUE(cast<nn::LayerOpInterface>(operatorOf(*module))
                    .buildWithCuts(builder)
                    .empty());
  }
}

TEST_F(LayersTest, Describes) {
  const std::string W = "tensor<6x2x3x2xf64>", Y = "tensor<Bx6x3x2xf64>";
  OwningOpRef<ModuleOp> module =
      parse({kX + "; " + W,
             "nn.conv2d %0, %1 {strides = [2, 3], padding = [0, 1, 1, 0], "
             "dilations = [1, 2], groups = 2} : " +
                 kX + ", " + W,
             Y},
            5);
  Operation *op = operatorOf(*module);
  nn::Layer layer = cast<nn::LayerOpInterface>(op).getLayer();
  EXPECT_EQ(layer.kind, nn::LayerKind::conv2d);
  EXPECT_EQ(layer.window, (std::array<int64_t, 2>{3, 2}));
  EXPECT_EQ(layer.strides, (std::array<int64_t, 2>{2, 3}));
  EXPECT_EQ(layer.dilations, (std::array<int64_t, 2>{1, 2}));
  EXPECT_EQ(layer.padding, (std::array<int64_t, 4>{0, 1, 1, 0}));
  EXPECT_EQ(layer.groups, 2);
  EXPECT_TRUE(nn::isCheckpoint(op));
  EXPECT_TRUE(nn::getInPlaceOperands(op, 0).empty());
  // 5 x 6 x 3 x 2 sums of 2 x 3 x 2 products.
  EXPECT_EQ(nn::getTotalFlops(op), 2 * 180 * 12);
  EXPECT_EQ(nn::getTotalBytes(op), 8 * (720 + 72 + 180));
  EXPECT_FALSE(nn::getViewed(op));
}

TEST_F(LayersTest, InPlace) {
  auto inPlace = [&](const Case &of, unsigned result) {
    OwningOpRef<ModuleOp> module = parse(of, 5);
    return nn::getInPlaceOperands(operatorOf(*module), result);
  };
  using Numbers = SmallVector<unsigned>;
  const std::string c = "tensor<4xf64>";
  EXPECT_EQ(inPlace({kX, "nn.relu %0 : " + kX, kX}, 0), Numbers({0}));
  EXPECT_EQ(inPlace({kX + "; " + kX, "arith.addf %0, %1 : " + kX, kX}, 0),
            Numbers({0, 1}));
  // Conditions have other bytes.
  EXPECT_EQ(inPlace({kX + "; " + kX, "arith.cmpf ogt, %0, %1 : " + kX,
                     "tensor<Bx4x6x6xi1>"},
                    0),
            Numbers());
  Case norm{kX + "; " + c + "; " + c,
            "nn.batch_norm %0, %1, %2 : " + kX + ", " + c,
            kX + ", " + c + ", " + c};
  EXPECT_EQ(inPlace(norm, 0), Numbers({0}));
  EXPECT_EQ(inPlace(norm, 1), Numbers());
  Case adjoint{kX + "; " + c + "; " + c + "; " + c + "; " + kX,
               "nn.batch_norm_adjoint %0, %1, %2, %3, %4 : " + kX + ", " + c,
               kX + ", " + c + ", " + c};
  EXPECT_EQ(inPlace(adjoint, 0), Numbers({4}));
  EXPECT_EQ(inPlace(adjoint, 2), Numbers());
}

TEST_F(LayersTest, Views) {
  OwningOpRef<ModuleOp> module =
      parse({kX,
             "tensor.collapse_shape %0 [[0], [1, 2, 3]] : " + kX +
                 " into tensor<Bx144xf64>",
             "tensor<Bx144xf64>"},
            5);
  Operation *op = operatorOf(*module);
  EXPECT_EQ(nn::getViewed(op), op->getOperand(0));
  EXPECT_EQ(nn::getTotalBytes(op), 0);
  EXPECT_EQ(nn::getTotalFlops(op), 0);
  EXPECT_FALSE(nn::isCheckpoint(op));
}
} // namespace
