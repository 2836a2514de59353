//===- ExpandMathTest.cpp - Accuracy of the expanded functions ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the expansions to machine code and compares them with libm in f64,
// over every 997th bit pattern (ESPALIER_TEST_STRIDE=1 takes all 2^32) and the
// values where something special happens.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/ExpandMath.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/TargetSelect.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

using namespace mlir;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

enum class Function { exp, tanh, sigmoid };

double reference(Function function, double x) {
  switch (function) {
  case Function::exp:
    return std::exp(x);
  case Function::tanh:
    return std::tanh(x);
  case Function::sigmoid:
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
  }
  return 0;
}

/// A function compiled for scalars or for vectors of `lanes` elements.
class Kernel {
public:
  static std::unique_ptr<Kernel> create(Function function, Type element,
                                        int64_t lanes) {
    MLIRContext *context = element.getContext();
    context->loadDialect<arith::ArithDialect, func::FuncDialect,
                         LLVM::LLVMDialect, math::MathDialect>();
    registerBuiltinDialectTranslation(*context);
    registerLLVMDialectTranslation(*context);

    Type type = lanes ? Type(VectorType::get(lanes, element)) : element;
    Location loc = UnknownLoc::get(context);
    OpBuilder builder(context);
    OwningOpRef<ModuleOp> module(ModuleOp::create(builder, loc));
    builder.setInsertionPointToEnd(module->getBody());
    Type pointer = LLVM::LLVMPointerType::get(context);
    auto func =
        func::FuncOp::create(builder, loc, "kernel",
                             builder.getFunctionType({pointer, pointer}, {}));
    func->setAttr("llvm.emit_c_interface", builder.getUnitAttr());
    Block *body = func.addEntryBlock();
    builder.setInsertionPointToStart(body);
    Value x = LLVM::LoadOp::create(builder, loc, type, body->getArgument(1));
    Value y;
    if (function == Function::exp)
      y = math::ExpOp::create(builder, loc, x);
    else if (function == Function::tanh)
      y = math::TanhOp::create(builder, loc, x);
    else
      y = espalier::nn::buildSigmoid(builder, loc, x);
    LLVM::StoreOp::create(builder, loc, y, body->getArgument(0));
    func::ReturnOp::create(builder, loc);

    RewritePatternSet patterns(context);
    espalier::nn::populateExpandMathPatterns(patterns);
    if (failed(applyPatternsGreedily(*module, std::move(patterns))))
      return nullptr;
    auto kernel = std::make_unique<Kernel>();
    module->walk([&](math::ExpOp) { ++kernel->callsLeft; });
    module->walk([&](math::TanhOp) { ++kernel->callsLeft; });

    PassManager pm(context);
    pm.addPass(createConvertMathToLLVMPass());
    pm.addPass(createArithToLLVMConversionPass());
    pm.addPass(createConvertFuncToLLVMPass());
    if (failed(pm.run(*module)))
      return nullptr;

    ExecutionEngineOptions options;
    auto optimize = makeOptimizingTransformer(2, 0, nullptr);
    options.transformer = optimize;
    auto engine = ExecutionEngine::create(*module, options);
    if (!engine) {
      ADD_FAILURE() << llvm::toString(engine.takeError());
      return nullptr;
    }
    auto entry = (*engine)->lookup("kernel");
    if (!entry) {
      ADD_FAILURE() << llvm::toString(entry.takeError());
      return nullptr;
    }
    kernel->engine = std::move(*engine);
    kernel->entry = reinterpret_cast<void (*)(void *, const void *)>(*entry);
    return kernel;
  }

  void operator()(void *result, const void *argument) const {
    entry(result, argument);
  }

  /// Operations left to libm.
  int callsLeft = 0;

private:
  std::unique_ptr<ExecutionEngine> engine;
  void (*entry)(void *, const void *) = nullptr;
};

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Position of a float among all floats, so that neighbours differ by one.
int64_t ordinal(float value) {
  int32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? -int64_t(bits & 0x7fffffff) : bits;
}

class ExpandMath
    : public testing::TestWithParam<std::tuple<Function, int64_t>> {
protected:
  void SetUp() override {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    lanes = std::get<1>(GetParam());
    kernel = Kernel::create(function(), Float32Type::get(&context), lanes);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->callsLeft, 0);
  }
  Function function() const { return std::get<0>(GetParam()); }

  /// Every lane gets the same argument, and must give the same result.
  float evaluate(float x) const {
    alignas(64) float in[16], out[16];
    std::fill(in, in + 16, x);
    (*kernel)(out, in);
    for (int64_t i = 1; i < lanes; ++i)
      EXPECT_EQ(std::memcmp(out, out + i, sizeof(float)), 0) << "lane " << i;
    return out[0];
  }

  MLIRContext context;
  std::unique_ptr<Kernel> kernel;
  int64_t lanes = 0;
};

TEST_P(ExpandMath, IsAccurate) {
  uint64_t stride = 997;
  if (const char *text = std::getenv("ESPALIER_TEST_STRIDE"))
    stride = std::max(1ull, std::strtoull(text, nullptr, 10));
  int64_t width = std::max<int64_t>(lanes, 1);
  alignas(64) float in[16], out[16];
  int64_t worst = 0;
  float worstArgument = 0;
  for (uint64_t bits = 0; bits < (1ull << 32); bits += stride * width) {
    for (int64_t i = 0; i < width; ++i)
      in[i] = fromBits(uint32_t(bits + i * stride));
    (*kernel)(out, in);
    for (int64_t i = 0; i < width; ++i) {
      if (std::isnan(in[i])) {
        ASSERT_TRUE(std::isnan(out[i]));
        continue;
      }
      ASSERT_FALSE(std::isnan(out[i])) << "at " << in[i];
      float expected = float(reference(function(), in[i]));
      int64_t distance = std::abs(ordinal(out[i]) - ordinal(expected));
      if (distance > worst) {
        worst = distance;
        worstArgument = in[i];
      }
      if (function() == Function::tanh) {
        ASSERT_LE(std::fabs(out[i]), 1.0f) << "at " << in[i];
        ASSERT_EQ(std::signbit(out[i]), std::signbit(in[i])) << "at " << in[i];
      }
    }
  }
  EXPECT_LE(worst, 2) << "at " << worstArgument;
  RecordProperty("ulp", int(worst));
}

TEST_P(ExpandMath, IsExactWhereItMatters) {
  float huge[] = {1e4f, 3e38f, inf};
  switch (function()) {
  case Function::exp:
    EXPECT_EQ(evaluate(0.0f), 1.0f);
    EXPECT_EQ(evaluate(-0.0f), 1.0f);
    // The largest argument with a finite result, and its neighbour.
    EXPECT_LT(evaluate(0x1.62e42ep+6f), inf);
    EXPECT_EQ(evaluate(0x1.62e43p+6f), inf);
    // Denormal results are rounded, not flushed.
    EXPECT_EQ(evaluate(-103.0f), 0x1p-149f);
    EXPECT_EQ(evaluate(-104.0f), 0.0f);
    EXPECT_NEAR(evaluate(-90.0f), std::exp(-90.0), 0x1p-148);
    for (float x : huge) {
      EXPECT_EQ(evaluate(x), inf);
      EXPECT_EQ(evaluate(-x), 0.0f);
    }
    break;
  case Function::tanh:
    EXPECT_EQ(evaluate(0.0f), 0.0f);
    EXPECT_FALSE(std::signbit(evaluate(0.0f)));
    EXPECT_EQ(evaluate(-0.0f), 0.0f);
    EXPECT_TRUE(std::signbit(evaluate(-0.0f)));
    EXPECT_EQ(evaluate(0x1p-149f), 0x1p-149f);
    EXPECT_EQ(evaluate(-52.0f), -1.0f);
    for (float x : huge) {
      EXPECT_EQ(evaluate(x), 1.0f);
      EXPECT_EQ(evaluate(-x), -1.0f);
    }
    for (float x = 0x1p-126f; x < 20.0f; x *= 1.37f)
      EXPECT_EQ(evaluate(-x), -evaluate(x)) << "at " << x;
    break;
  case Function::sigmoid:
    EXPECT_EQ(evaluate(0.0f), 0.5f);
    EXPECT_EQ(evaluate(-0.0f), 0.5f);
    EXPECT_EQ(evaluate(52.0f), 1.0f);
    EXPECT_EQ(evaluate(-103.0f), 0x1p-149f);
    EXPECT_EQ(evaluate(-104.0f), 0.0f);
    for (float x : huge) {
      EXPECT_EQ(evaluate(x), 1.0f);
      EXPECT_EQ(evaluate(-x), 0.0f);
    }
    break;
  }
  for (uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
    EXPECT_TRUE(std::isnan(evaluate(fromBits(bits))));
}

TEST_P(ExpandMath, KeepsLanesApart) {
  if (lanes == 0)
    return;
  alignas(64) float in[16], out[16];
  for (int64_t i = 0; i < lanes; ++i)
    in[i] = i % 3 == 0 ? std::nanf("") : float(i - 4) * 0.7f;
  (*kernel)(out, in);
  for (int64_t i = 0; i < lanes; ++i)
    if (i % 3 == 0)
      EXPECT_TRUE(std::isnan(out[i]));
    else
      EXPECT_EQ(out[i], evaluate(in[i]));
}

std::string parameterName(
    const testing::TestParamInfo<std::tuple<Function, int64_t>> &info) {
  const char *names[] = {"exp", "tanh", "sigmoid"};
  int64_t lanes = std::get<1>(info.param);
  return std::string(names[int(std::get<0>(info.param))]) +
         (lanes ? "Vector" + std::to_string(lanes) : "Scalar");
}

INSTANTIATE_TEST_SUITE_P(
    F32, ExpandMath,
    testing::Combine(testing::Values(Function::exp, Function::tanh,
                                     Function::sigmoid),
                     testing::Values<int64_t>(0, 4, 8, 16)),
    parameterName);

TEST(ExpandMathF64, LeavesFunctionsToLibm) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  MLIRContext context;
  for (Function function : {Function::exp, Function::tanh, Function::sigmoid}) {
    auto kernel = Kernel::create(function, Float64Type::get(&context), 0);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->callsLeft, 1);
    for (double x : {-745.0, -700.0, -30.0, -1.0, -1e-9, -0.0, 0.0, 1e-9, 1.0,
                     30.0, 700.0}) {
      double y, expected = reference(function, x);
      (*kernel)(&y, &x);
      EXPECT_NEAR(y, expected, 1e-15 * std::fabs(expected)) << "at " << x;
    }
    double y, nan = std::nan("");
    (*kernel)(&y, &nan);
    EXPECT_TRUE(std::isnan(y));
  }
}

} // namespace
