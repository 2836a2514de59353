//===- InterpreterTest.cpp ------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected values are worked out by hand: vertex functions here count and add.
//
//===----------------------------------------------------------------------===//

#include "espalier/Reference/Interpreter.h"

#include "espalier/Dialect/Vertex/IR/Vertex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

namespace {
class InterpreterTest : public ::testing::Test {
protected:
  InterpreterTest() {
    context.loadDialect<nn::NNDialect, vertex::VertexDialect,
                        arith::ArithDialect, func::FuncDialect,
                        math::MathDialect, tensor::TensorDialect>();
  }

  /// The results of @main; none, and a message in `error`, if it fails.
  std::vector<Array> run(StringRef source, ArrayRef<Structures> structures,
                         std::vector<Array> arguments) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      error = diagnostic.str();
      return success();
    });
    auto module = parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module) << error;
    if (!module)
      return {};
    auto results = interpret(module->lookupSymbol<func::FuncOp>("main"),
                             structures, std::move(arguments));
    return succeeded(results) ? *results : std::vector<Array>();
  }

  MLIRContext context;
  std::string error;
};

using Numbers = std::vector<double>;
using Shape = std::vector<int64_t>;

/// Two structures and an empty one between them: a root with two leaves, and
/// a parent before its only child, in the second slot.
Structures twoTrees() {
  return {{0, 3, 3, 5}, {{}, {}, {0, 1}, {-1, 4}, {-1}}};
}

/// n = x + n(left) + ten n(right)
constexpr const char *kCount = R"mlir(
vertex.func @count(%ten: tensor<1xf32>) state(tensor<1xf32>) arity(2) {
  %l = vertex.gather 0 : tensor<1xf32>
  %r = vertex.gather 1 : tensor<1xf32>
  %x = vertex.pull "x" : tensor<1xf32>
  %0 = math.fma %r, %ten, %l : tensor<1xf32>
  %1 = arith.addf %0, %x : tensor<1xf32>
  vertex.scatter %1 : tensor<1xf32>
  vertex.push "n" %1 : tensor<1xf32>
}
func.func @main(%g: !vertex.graph, %x: tensor<?x1xf32>)
    -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %ten = arith.constant dense<10.0> : tensor<1xf32>
  %n = vertex.apply @count(%ten) over %g pull("x" = %x) -> "n"
      : (tensor<1xf32>), (tensor<?x1xf32>) -> tensor<?x1xf32>
  %r = vertex.roots %g, %n : tensor<?x1xf32>
  return %n, %r : tensor<?x1xf32>, tensor<?x1xf32>
}
)mlir";

/// A one for every vertex, to be counted.
std::vector<Array> onesFor(const Structures &structures) {
  int64_t count = structures.vertices();
  return {{{count, 1}, Numbers(count, 1)}};
}
} // namespace

TEST_F(InterpreterTest, ChildrenBeforeParentsInSlots) {
  auto results = run(kCount, twoTrees(), onesFor(twoTrees()));
  ASSERT_EQ(results.size(), 2u) << error;
  EXPECT_EQ(results[0].data, (Numbers{1, 1, 12, 11, 1}));
  EXPECT_EQ(results[1].shape, (Shape{3, 1}));
  EXPECT_EQ(results[1].data, (Numbers{12, 0, 1}));
}

TEST_F(InterpreterTest, NoStructures) {
  auto results = run(kCount, Structures(), onesFor({}));
  ASSERT_EQ(results.size(), 2u) << error;
  EXPECT_EQ(results[0].shape, (Shape{0, 1}));
  EXPECT_EQ(results[1].shape, (Shape{0, 1}));
}

TEST_F(InterpreterTest, StructuresThatMakeNoSense) {
  Structures cycle{{0, 2}, {{1}, {0}}};
  run(kCount, cycle, onesFor(cycle));
  EXPECT_EQ(error, "structure 0, vertex 0 is in a cycle or has one below it");
  Structures outside{{0, 1, 2}, {{}, {0}}};
  run(kCount, outside, onesFor(outside));
  EXPECT_EQ(error, "structure 1, vertex 0 has a child outside of its "
                   "structure");
  Structures wide{{0, 1}, {{-1, -1, -1}}};
  run(kCount, wide, onesFor(wide));
  EXPECT_EQ(error, "structure 0, vertex 0 has 3 children, but @count has "
                   "arity 2");
}

TEST_F(InterpreterTest, PlacesAndLeafVariants) {
  constexpr const char *source = R"mlir(
vertex.func @f(%one: tensor<1xf32>) state(tensor<1xf32>) arity(2) leaf(@g) {
  %x = vertex.pull "x" at inner : tensor<1xf32>
  %y = vertex.pull "y" at leaves : tensor<1xf32>
  %1 = arith.subf %x, %y : tensor<1xf32>
  %0 = arith.addf %1, %one : tensor<1xf32>
  vertex.scatter %0 : tensor<1xf32>
  vertex.push "p" %0 : tensor<1xf32>
}
vertex.func @g(%one: tensor<1xf32>) state(tensor<1xf32>) arity(0) {
  %x = vertex.pull "x" at inner : tensor<1xf32>
  %y = vertex.pull "y" at leaves : tensor<1xf32>
  %1 = arith.subf %y, %x : tensor<1xf32>
  %0 = arith.mulf %1, %one : tensor<1xf32>
  vertex.scatter %0 : tensor<1xf32>
  vertex.push "p" %0 : tensor<1xf32>
}
func.func @main(%t: !vertex.graph, %x: tensor<?x1xf32>, %y: tensor<?x1xf32>)
    -> tensor<?x1xf32> {
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %p = vertex.apply @f(%one) over %t pull("x" = %x, "y" = %y) -> "p"
      : (tensor<1xf32>), (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x1xf32>
  return %p : tensor<?x1xf32>
}
)mlir";
  Array x{{5, 1}, {1, 2, 3, 4, 5}}, y{{5, 1}, {10, 20, 30, 40, 50}};
  auto results = run(source, twoTrees(), {x, y});
  ASSERT_EQ(results.size(), 1u) << error;
  // A vertex whose child slots are all absent is a leaf.
  EXPECT_EQ(results[0].data, (Numbers{10, 20, 4, 5, 50}));
  run(source, twoTrees(), {x, {{4, 1}, {1, 2, 3, 4}}});
  EXPECT_EQ(error, "'vertex.apply' op pulls \"y\" from a tensor of 4 rows, "
                   "expected one for each of 5 vertices");
}

TEST_F(InterpreterTest, Embedding) {
  constexpr const char *source = R"mlir(
func.func @main(%t: !vertex.graph, %e: tensor<2x2xf32>, %i: tensor<?xi32>)
    -> tensor<?x2xf32> {
  %0 = nn.embedding %e[%i] : tensor<2x2xf32>, tensor<?xi32>
  return %0 : tensor<?x2xf32>
}
)mlir";
  Array table{{2, 2}, {1, 2, 3, 4}};
  auto results = run(source, twoTrees(), {table, {{5}, {1, -1, 0, -7, 1}}});
  ASSERT_EQ(results.size(), 1u) << error;
  EXPECT_EQ(results[0].data, (Numbers{3, 4, 0, 0, 1, 2, 0, 0, 3, 4}));
  run(source, twoTrees(), {table, {{5}, {0, 0, 0, 0, 2}}});
  EXPECT_EQ(error, "'nn.embedding' op structure 2, vertex 1: id 2 is outside "
                   "the table, which has 2 rows; ids and weights must come "
                   "from the same vocabulary");
}

TEST_F(InterpreterTest, GroupsRunRowByRow) {
  auto results = run(R"mlir(
func.func @main(%t: !vertex.graph, %x: tensor<?x2xf32>, %b: tensor<2xf32>)
    -> tensor<?x2xf32> {
  %0 = nn.elementwise(%x, %b)
      : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32> {
  ^bb0(%row: tensor<2xf32>, %bias: tensor<2xf32>):
    %1 = arith.addf %row, %bias : tensor<2xf32>
    %2 = nn.relu %1 : tensor<2xf32>
    nn.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<?x2xf32>
}
)mlir",
                     Structures(), {{{2, 2}, {1, 2, 3, 4}}, {{2}, {-2, 10}}});
  ASSERT_EQ(results.size(), 1u) << error;
  EXPECT_EQ(results[0].data, (Numbers{0, 12, 1, 14}));
}

TEST_F(InterpreterTest, SlicesAndIntegers) {
  auto results = run(R"mlir(
func.func @main(%t: !vertex.graph, %x: tensor<2x3xi32>)
    -> (tensor<3xi32>, tensor<2x4xi32>, tensor<3xf64>) {
  %row = tensor.extract_slice %x[1, 0] [1, 3] [1, 1]
      : tensor<2x3xi32> to tensor<3xi32>
  %sum = arith.addi %row, %row : tensor<3xi32>
  %ends = tensor.extract_slice %x[0, 0] [2, 2] [1, 2]
      : tensor<2x3xi32> to tensor<2x2xi32>
  %both = tensor.concat dim(1) %ends, %ends
      : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x4xi32>
  %less = arith.cmpi ult, %row, %sum : tensor<3xi32>
  %float = arith.uitofp %less : tensor<3xi1> to tensor<3xf64>
  return %sum, %both, %float : tensor<3xi32>, tensor<2x4xi32>, tensor<3xf64>
}
)mlir",
                     Structures(), {{{2, 3}, {1, 2, 3, 4, -5, 2147483647}}});
  ASSERT_EQ(results.size(), 3u) << error;
  EXPECT_EQ(results[0].data, (Numbers{8, -10, -2}));
  EXPECT_EQ(results[1].data,
            (Numbers{1, 3, 1, 3, 4, 2147483647, 4, 2147483647}));
  // Without sign -5 is greater than -10, and 2^31 - 1 less than 2^32 - 2.
  EXPECT_EQ(results[2].data, (Numbers{1, 0, 1}));
}

TEST_F(InterpreterTest, Reversed) {
  // Counts upwards over the edges turned round; a root has one parent slot.
  std::string source = kCount;
  source.replace(source.find("  %n = vertex.apply"), 0,
                 "  %back = vertex.reverse %g : !vertex.graph\n");
  source.replace(source.find("over %g"), 7, "over %back");
  auto results = run(source, twoTrees(), onesFor(twoTrees()));
  ASSERT_EQ(results.size(), 2u) << error;
  EXPECT_EQ(results[0].data, (Numbers{2, 2, 1, 1, 2}));
  EXPECT_EQ(results[1].data, (Numbers{1, 0, 2}));

  // Parents in the order of their numbers, once for each slot.
  Structures shared{{0, 3}, {{}, {0}, {1, 0}}};
  results = run(source, shared, onesFor(shared));
  ASSERT_EQ(results.size(), 2u) << error;
  EXPECT_EQ(results[0].data, (Numbers{1 + 2 + 10 * 1, 2, 1}));
}

TEST_F(InterpreterTest, BetweenStructuresAndVertices) {
  const char *source = R"mlir(
func.func @main(%a: !vertex.graph, %b: !vertex.graph, %x: tensor<?x2xf32>)
    -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>) {
  %sum = vertex.segment_sum %a, %x : tensor<?x2xf32>
  %max = vertex.segment_max %a, %x : tensor<?x2xf32>
  %spread = vertex.spread_structures %b, %sum : tensor<?x2xf32>
  return %sum, %max, %spread
      : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>
}
)mlir";
  Structures other{{0, 2, 3, 3}, {{}, {}, {}}};
  Array x{{5, 2}, {-1, -9, -2, -8, -3, -7, 5, 0, NAN, 0}};
  auto results = run(source, {twoTrees(), other}, {x});
  ASSERT_EQ(results.size(), 3u) << error;
  EXPECT_EQ(results[0].shape, (Shape{3, 2}));
  EXPECT_EQ(Numbers(results[0].data.begin(), results[0].data.begin() + 4),
            (Numbers{-6, -24, 0, 0}));
  EXPECT_EQ(Numbers(results[1].data.begin(), results[1].data.begin() + 4),
            (Numbers{-1, -7, 0, 0}));
  EXPECT_TRUE(std::isnan(results[1].data[4]));
  EXPECT_EQ(results[2].data, (Numbers{-6, -24, -6, -24, 0, 0}));

  run(source, {twoTrees(), Structures()}, {x});
  EXPECT_EQ(error, "'func.func' op runs over 3 structures of one graph and 0 "
                   "of another; expects as many of each");
  run(source, twoTrees(), {x});
  EXPECT_EQ(error, "'func.func' op runs over 2 graphs, but got structures for "
                   "1");
}

TEST_F(InterpreterTest, UnsupportedOperator) {
  run(R"mlir(
func.func @main(%t: !vertex.graph, %x: tensor<3xi32>) -> tensor<3xi32> {
  %0 = arith.divsi %x, %x : tensor<3xi32>
  return %0 : tensor<3xi32>
}
)mlir",
      Structures(), {{{3}, {1, 2, 3}}});
  EXPECT_EQ(error, "'arith.divsi' op is not supported by the interpreter");
}

TEST_F(InterpreterTest, LongChain) {
  int64_t count = 200000;
  Structures chain{{0, count}, {{}}};
  while (chain.vertices() != count)
    chain.children.push_back({(int32_t)chain.vertices() - 1});
  auto results = run(kCount, chain, onesFor(chain));
  ASSERT_EQ(results.size(), 2u) << error;
  EXPECT_EQ(results[1].data, (Numbers{(double)count}));
}
