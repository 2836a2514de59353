//===- TranslateModel.cpp - Model tables as constant data -------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels go through MLIR's translation; `model.entry` becomes constants laid
// out as the structs of espalier/abi.h. Field by field, in the order of the
// header: the C compiler's layout rules and LLVM's are the same for them, and
// the static assertions of the header pin the sizes.
//
//===----------------------------------------------------------------------===//

#include "espalier/Target/Library.h"

#include "espalier/Dialect/Model/IR/Model.h"
#include "espalier/abi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

using namespace mlir;
using namespace espalier;

namespace {
using Constants = SmallVector<llvm::Constant *>;

class ModelEmitter {
public:
  ModelEmitter(llvm::Module &module, StringRef name,
               const TargetProcessor &processor)
      : module(module), context(module.getContext()), name(name),
        processor(processor), i32(llvm::Type::getInt32Ty(context)),
        i64(llvm::Type::getInt64Ty(context)),
        pointer(llvm::PointerType::getUnqual(context)) {}

  LogicalResult emit(ModuleOp source) {
    Constants entries;
    for (model::EntryOp entry : source.getOps<model::EntryOp>()) {
      FailureOr<llvm::Constant *> table = emitEntry(entry);
      if (failed(table))
        return failure();
      entries.push_back(*table);
    }
    if (entries.empty())
      return source.emitError("has no entry: no func.func with a body");
    llvm::Constant *model = structure(
        {word(ESPALIER_ABI_MAGIC), word(ESPALIER_ABI_MAJOR),
         word(ESPALIER_ABI_MINOR), word(sizeof(espalier_model)), string(name),
         string(ESPALIER_VERSION), string(processor.machine->getTargetCPU()),
         string(processor.features), word(entries.size()), word(0),
         array(entries)});
    emitQuery(global(model));
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Constants
  //===--------------------------------------------------------------------===//

  llvm::Constant *word(uint64_t value) {
    return llvm::ConstantInt::get(i32, value);
  }
  llvm::Constant *number(int64_t value) {
    return llvm::ConstantInt::get(i64, value);
  }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(pointer); }

  llvm::Constant *structure(ArrayRef<llvm::Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }

  /// A pointer to `value` in constant memory of this library.
  llvm::Constant *global(llvm::Constant *value, unsigned alignment = 8) {
    auto *variable = new llvm::GlobalVariable(
        module, value->getType(), /*isConstant=*/true,
        llvm::GlobalValue::InternalLinkage, value, "espalier.table");
    variable->setAlignment(llvm::Align(alignment));
    variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return variable;
  }

  /// A pointer to an array of `elements`; null if there are none.
  llvm::Constant *array(ArrayRef<llvm::Constant *> elements) {
    if (elements.empty())
      return null();
    auto *type =
        llvm::ArrayType::get(elements.front()->getType(), elements.size());
    return global(llvm::ConstantArray::get(type, elements));
  }

  llvm::Constant *string(StringRef text) {
    llvm::Constant *&known = strings[text];
    if (!known)
      known = global(llvm::ConstantDataArray::getString(context, text), 1);
    return known;
  }

  //===--------------------------------------------------------------------===//
  // Tables
  //===--------------------------------------------------------------------===//

  FailureOr<llvm::Constant *> emitEntry(model::EntryOp entry) {
    bufferNumbers.clear();
    weightNumbers.clear();
    Constants graphs, buffers, weights, phases;
    for (auto [number, graph] : llvm::enumerate(entry.getGraphs())) {
      int64_t reverseOf =
          entry.getReverseOf() ? (*entry.getReverseOf())[number] : 0;
      int64_t types = entry.getTypes() ? (*entry.getTypes())[number] : 1;
      llvm::Constant *field = null();
      if (types > 1)
        field = string(
            cast<StringAttr>((*entry.getTypeFields())[number]).getValue());
      bool shared = entry.getShared() && (*entry.getShared())[number];
      graphs.push_back(
          structure({string(cast<StringAttr>(graph).getValue()),
                     word(entry.getArities()[number]), word(reverseOf),
                     word(types), word(shared), field}));
    }

    SmallVector<model::BufferOp> ordered(
        entry.getBody().getOps<model::BufferOp>());
    findLifetimes(entry);
    for (model::BufferOp buffer : ordered) {
      FailureOr<llvm::Constant *> table = emitBuffer(buffer);
      if (failed(table))
        return failure();
      bufferNumbers[buffer.getBuffer()] = buffers.size();
      buffers.push_back(*table);
    }
    for (model::WeightOp weight : entry.getBody().getOps<model::WeightOp>()) {
      weightNumbers[weight.getWeight()] = weights.size();
      weights.push_back(emitWeight(weight));
    }
    for (model::PhaseOp phase : entry.getBody().getOps<model::PhaseOp>())
      phases.push_back(emitPhase(phase));
    return structure({string(entry.getSymName()), word(graphs.size()),
                      word(buffers.size()), word(weights.size()),
                      word(phases.size()), array(graphs), array(buffers),
                      array(weights), array(phases), emitPlan(entry)});
  }

  llvm::Constant *emitPlan(model::EntryOp entry) {
    if (!entry.getMemory())
      return null();
    ArrayRef<int64_t> memory = *entry.getMemory();
    return global(
        structure({number(memory[0]), number(memory[1]), number(memory[2]),
                   string(entry.getMachine().value_or(""))}));
  }

  /// First and last phase that touch each buffer.
  void findLifetimes(model::EntryOp entry) {
    lifetimes.clear();
    unsigned number = 0;
    for (model::PhaseOp phase : entry.getBody().getOps<model::PhaseOp>()) {
      for (Operation &step : phase.getBody().front())
        for (Value operand : step.getOperands()) {
          auto [it, inserted] =
              lifetimes.try_emplace(operand, std::pair(number, number));
          it->second.second = number;
        }
      ++number;
    }
  }

  FailureOr<llvm::Constant *> emitBuffer(model::BufferOp op) {
    auto row = cast<RankedTensorType>(op.getRow());
    std::optional<uint32_t> dtype = getDtype(row.getElementType());
    if (!dtype)
      return op.emitOpError("has elements of ")
             << row.getElementType() << "; the runtime knows f32, f64 and i32";
    if (row.getRank() > ESPALIER_MAX_RANK)
      return op.emitOpError("has rows of rank ")
             << row.getRank() << "; the runtime's limit is "
             << ESPALIER_MAX_RANK;
    llvm::Constant *data = null();
    if (ElementsAttr value = op.getValueAttr()) {
      FailureOr<llvm::Constant *> bytes = emitData(op, value);
      if (failed(bytes))
        return failure();
      data = *bytes;
    }
    Constants shape;
    for (int64_t extent : row.getShape())
      shape.push_back(number(extent));
    shape.resize(ESPALIER_MAX_RANK, number(0));
    std::pair<unsigned, unsigned> lifetime = lifetimes.lookup(op.getBuffer());
    if (op.getUntil())
      lifetime.second = std::max<unsigned>(lifetime.second, *op.getUntil());
    return structure(
        {string(op.getName()), word(static_cast<uint32_t>(op.getKind())),
         word(*dtype), word(static_cast<uint32_t>(op.getRows())),
         word(op.getGraph()), word(row.getRank()), word(lifetime.first),
         word(lifetime.second), word(0),
         llvm::ConstantArray::get(llvm::ArrayType::get(i64, ESPALIER_MAX_RANK),
                                  shape),
         number(row.getNumElements()), data,
         number(op.getOffset() ? *op.getOffset() : -1)});
  }

  static std::optional<uint32_t> getDtype(Type type) {
    if (type.isF32())
      return ESPALIER_F32;
    if (type.isF64())
      return ESPALIER_F64;
    if (type.isInteger(32))
      return ESPALIER_I32;
    return std::nullopt;
  }

  FailureOr<llvm::Constant *> emitData(model::BufferOp op, ElementsAttr value) {
    Type element = value.getElementType();
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
      AsmResourceBlob *blob = resource.getRawHandle().getBlob();
      int64_t bytes = value.getNumElements() *
                      llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
      if (!blob)
        return op.emitOpError("has the data of resource '")
               << resource.getRawHandle().getKey()
               << "', which was elided when the IR was printed; print it "
                  "without eliding resources, or make it a parameter";
      if ((int64_t)blob->getData().size() != bytes)
        return op.emitOpError("expects ")
               << bytes << " bytes in resource '"
               << resource.getRawHandle().getKey() << "', but it has "
               << blob->getData().size();
      return global(llvm::ConstantDataArray::getString(
                        context, StringRef(blob->getData().data(), bytes),
                        /*AddNull=*/false),
                    64);
    }
    auto dense = dyn_cast<DenseElementsAttr>(value);
    if (!dense)
      return op.emitOpError("has data of an unknown kind: ") << value;
    auto collect = [&](auto sample) {
      using T = decltype(sample);
      SmallVector<T> values(dense.getValues<T>());
      return global(llvm::ConstantDataArray::get(context, ArrayRef<T>(values)),
                    64);
    };
    if (element.isF32())
      return collect(float());
    if (element.isF64())
      return collect(double());
    return collect(int32_t());
  }

  llvm::Constant *emitWeight(model::WeightOp op) {
    Constants columns;
    int64_t k = op.getRows(), n = 0;
    for (auto [begin, count] : llvm::zip(op.getBegins(), op.getCounts())) {
      columns.push_back(structure({number(begin), number(count)}));
      n += count;
    }
    if (op.getTransposed())
      std::swap(k, n);
    return structure({word(bufferNumbers.lookup(op.getSource())),
                      word(columns.size()), array(columns), number(op.getRow()),
                      number(k), number(n), word(op.getTransposed()), word(0)});
  }

  llvm::Constant *emitPhase(model::PhaseOp op) {
    Constants steps;
    for (Operation &step : op.getBody().front())
      steps.push_back(emitStep(&step));
    uint32_t type = op.getVertexType() ? *op.getVertexType() + 1 : 0;
    return structure(
        {string(op.getName()), word(static_cast<uint32_t>(op.getRows())),
         word(op.getGraph()), word(steps.size()), word(type), array(steps)});
  }

  /// `slot` is the ids' buffer of an access by id, otherwise the child slot.
  llvm::Constant *operand(Value buffer, model::OperandAttr at,
                          std::optional<uint32_t> slot = {}) {
    return structure({word(bufferNumbers.lookup(buffer)),
                      word(static_cast<uint32_t>(at.getAccess())),
                      word(slot.value_or(at.getSlot())), word(at.getStride()),
                      number(at.getColumn()), number(at.getElements())});
  }

  llvm::Constant *step(uint32_t kind, ArrayRef<llvm::Constant *> operands,
                       const Twine &text, uint32_t results = 1,
                       llvm::Constant *kernel = nullptr, uint32_t weight = 0,
                       int64_t flops = 0, int64_t bytes = 0,
                       bool overEdges = false, int64_t batchRows = 0,
                       llvm::Constant *layer = nullptr) {
    return structure({word(kind), word(operands.size()), array(operands),
                      string(text.str()), kernel ? kernel : null(),
                      word(weight), word(results), word(overEdges),
                      word(batchRows), number(flops), number(bytes),
                      layer ? layer : null()});
  }

  llvm::Constant *emitStep(Operation *op) {
    return TypeSwitch<Operation *, llvm::Constant *>(op)
        .Case([&](model::CopyOp copy) {
          int64_t bytes = 2 * rowBytes(copy.getSource(), copy.getSourceAt());
          return step(ESPALIER_STEP_COPY,
                      {operand(copy.getSource(), copy.getSourceAt()),
                       operand(copy.getTarget(), copy.getTargetAt())},
                      "copy " + describe(copy.getSourceAt()), 1, nullptr, 0, 0,
                      bytes, copy.getOverEdges());
        })
        .Case([&](model::EmbedOp embed) {
          int64_t bytes = 2 * rowBytes(embed.getTarget(), embed.getTargetAt());
          return step(ESPALIER_STEP_EMBED,
                      {operand(embed.getIds(), embed.getIdsAt()),
                       operand(embed.getTable(), embed.getTableAt()),
                       operand(embed.getTarget(), embed.getTargetAt())},
                      "embed", 1, nullptr, 0, 0, bytes);
        })
        .Case([&](model::MatmulOp matmul) {
          int64_t k = matmul.getSourceAt().getElements();
          int64_t n = matmul.getTargetAt().getElements();
          int64_t bytes = rowBytes(matmul.getSource(), matmul.getSourceAt()) +
                          rowBytes(matmul.getTarget(), matmul.getTargetAt());
          return step(ESPALIER_STEP_MATMUL,
                      {operand(matmul.getSource(), matmul.getSourceAt()),
                       operand(matmul.getTarget(), matmul.getTargetAt())},
                      "matmul " + Twine(k) + "x" + Twine(n), 1, nullptr,
                      weightNumbers.lookup(matmul.getWeight()), 2 * k * n,
                      bytes, matmul.getOverEdges());
        })
        .Case([&](model::SumParentsOp sum) {
          int64_t bytes = 2 * rowBytes(sum.getTarget(), sum.getTargetAt());
          return step(ESPALIER_STEP_SUM_PARENTS,
                      {operand(sum.getSource(), sum.getSourceAt()),
                       operand(sum.getTarget(), sum.getTargetAt())},
                      "sum parents", 1, nullptr, 0,
                      sum.getTargetAt().getElements(), bytes);
        })
        .Case([&](model::ReduceChildrenOp reduce) {
          auto kind = static_cast<uint32_t>(reduce.getReduction());
          int64_t bytes =
              2 * rowBytes(reduce.getTarget(), reduce.getTargetAt());
          return step(ESPALIER_STEP_SUM_CHILDREN + kind,
                      {operand(reduce.getSource(), reduce.getSourceAt()),
                       operand(reduce.getTarget(), reduce.getTargetAt())},
                      stringifyReduction(reduce.getReduction()) + " children",
                      1, nullptr, 0, reduce.getTargetAt().getElements(), bytes);
        })
        .Case([&](model::SumVerticesOp sum) {
          return reduceVertices(ESPALIER_STEP_SUM_VERTICES, sum,
                                "sum vertices");
        })
        .Case([&](model::MaxVerticesOp maximum) {
          return reduceVertices(ESPALIER_STEP_MAX_VERTICES, maximum,
                                "maximize vertices");
        })
        .Case([&](model::SumRowsOp sum) {
          return step(ESPALIER_STEP_SUM_ROWS,
                      {operand(sum.getSource(), sum.getSourceAt()),
                       operand(sum.getTarget(), sum.getTargetAt())},
                      "sum rows", 1, nullptr, 0,
                      sum.getTargetAt().getElements(),
                      rowBytes(sum.getSource(), sum.getSourceAt()));
        })
        .Case([&](model::OuterSumOp sum) {
          int64_t k = sum.getXAt().getElements();
          int64_t n = sum.getYAt().getElements();
          int64_t bytes = rowBytes(sum.getX(), sum.getXAt()) +
                          rowBytes(sum.getY(), sum.getYAt());
          return step(ESPALIER_STEP_OUTER_SUM,
                      {operand(sum.getX(), sum.getXAt()),
                       operand(sum.getY(), sum.getYAt()),
                       operand(sum.getTarget(), sum.getTargetAt())},
                      "outer sum " + Twine(k) + "x" + Twine(n), 1, nullptr, 0,
                      2 * k * n, bytes);
        })
        .Case([&](model::CombineRowsOp combine) {
          int64_t bytes =
              2 * rowBytes(combine.getSource(), combine.getSourceAt());
          return step(ESPALIER_STEP_COMBINE_ROWS,
                      {operand(combine.getIds(), combine.getIdsAt()),
                       operand(combine.getSource(), combine.getSourceAt()),
                       operand(combine.getOwners(), combine.getOwnersAt()),
                       operand(combine.getTarget(), combine.getTargetAt())},
                      "combine rows", 2, nullptr, 0,
                      combine.getSourceAt().getElements(), bytes);
        })
        .Case([&](model::LaunchOp launch) {
          Constants operands;
          auto ids = launch.getByIds().begin();
          for (auto [buffer, attribute] :
               llvm::zip(launch.getBuffers(), launch.getAt())) {
            auto at = cast<model::OperandAttr>(attribute);
            std::optional<uint32_t> slot;
            if (at.getAccess() == model::Access::id)
              slot = bufferNumbers.lookup(*ids++);
            operands.push_back(operand(buffer, at, slot));
          }
          return step(
              ESPALIER_STEP_KERNEL, operands, launch.getKernel(),
              launch.getWritten(), module.getFunction(launch.getKernel()), 0,
              launch.getFlops(), launch.getBytes(), launch.getOverEdges(),
              launch.getBatchRows() ? *launch.getBatchRows() : 0);
        })
        .Case([&](model::LayerOp layer) {
          Constants operands;
          for (Value buffer : layer.getBuffers())
            operands.push_back(wholeOperand(buffer));
          return step(ESPALIER_STEP_LAYER, operands,
                      model::stringifyLayerKind(layer.getKind()),
                      layer.getWritten(), nullptr, 0, layer.getFlops(),
                      layer.getBytes(), false, 0, emitLayer(layer));
        })
        .Case([&](model::OffloadOp copy) {
          return emitCopy(ESPALIER_STEP_OFFLOAD, "offload", copy.getSource(),
                          copy.getTarget());
        })
        .Case([&](model::PrefetchOp copy) {
          return emitCopy(ESPALIER_STEP_PREFETCH, "prefetch", copy.getSource(),
                          copy.getTarget(), copy.getColumn());
        });
  }

  /// Of the target's elements, from `column` of the source on.
  llvm::Constant *emitCopy(uint32_t kind, StringRef text, Value source,
                           Value target, int64_t column = 0) {
    auto type = cast<RankedTensorType>(
        target.getDefiningOp<model::BufferOp>().getRow());
    int64_t elements = type.getNumElements();
    int64_t bytes = elements * type.getElementTypeBitWidth() / 8;
    return step(kind,
                {partOfRow(source, column, elements), wholeOperand(target)},
                text, 1, nullptr, 0, 0, bytes);
  }

  /// The only row of a buffer, all of it.
  llvm::Constant *wholeOperand(Value buffer) {
    auto row = cast<RankedTensorType>(
        buffer.getDefiningOp<model::BufferOp>().getRow());
    return partOfRow(buffer, 0, row.getNumElements());
  }

  llvm::Constant *partOfRow(Value buffer, int64_t column, int64_t elements) {
    return structure({word(bufferNumbers.lookup(buffer)),
                      word(ESPALIER_ACCESS_SHARED), word(0), word(0),
                      number(column), number(elements)});
  }

  llvm::Constant *emitLayer(model::LayerOp layer) {
    auto numbers = [&](ArrayRef<int64_t> values) -> llvm::Constant * {
      Constants elements;
      for (int64_t value : values)
        elements.push_back(number(value));
      return llvm::ConstantArray::get(
          llvm::ArrayType::get(i64, elements.size()), elements);
    };
    auto real = [&](const llvm::APFloat &value) -> llvm::Constant * {
      return llvm::ConstantFP::get(context, value);
    };
    uint32_t flags = 0;
    if (layer.getCountPadding())
      flags |= ESPALIER_LAYER_COUNT_PADDING;
    if (layer.getTransposeA())
      flags |= ESPALIER_LAYER_TRANSPOSE_A;
    if (layer.getTransposeB())
      flags |= ESPALIER_LAYER_TRANSPOSE_B;
    if (layer.getAccumulate())
      flags |= ESPALIER_LAYER_ACCUMULATE;
    SmallVector<int64_t> workspace{0, -1};
    if (layer.getWorkspace())
      workspace.assign(layer.getWorkspace()->begin(),
                       layer.getWorkspace()->end());
    return global(structure(
        {word(static_cast<uint32_t>(layer.getKind())), word(flags),
         word(layer.getAlgorithm()), word(layer.getAxis()),
         numbers(layer.getWindow()), numbers(layer.getStrides()),
         numbers(layer.getDilations()), numbers(layer.getPadding()),
         numbers(layer.getOffsets()), number(layer.getGroups()),
         number(layer.getSize()), real(layer.getEpsilon()),
         real(layer.getAlpha()), real(layer.getBeta()), real(layer.getBias()),
         real(layer.getValue()), number(workspace[0]), number(workspace[1])}));
  }

  template <typename Op>
  llvm::Constant *reduceVertices(uint32_t kind, Op op, StringRef text) {
    return step(kind,
                {operand(op.getSource(), op.getSourceAt()),
                 operand(op.getTarget(), op.getTargetAt())},
                text, 1, nullptr, 0, op.getTargetAt().getElements(),
                2 * rowBytes(op.getTarget(), op.getTargetAt()));
  }

  static std::string describe(model::OperandAttr at) {
    std::string text = model::stringifyAccess(at.getAccess()).str();
    if (at.getAccess() == model::Access::child)
      text += " " + std::to_string(at.getSlot());
    return text;
  }

  static int64_t rowBytes(Value buffer, model::OperandAttr at) {
    auto row = cast<RankedTensorType>(
        buffer.getDefiningOp<model::BufferOp>().getRow());
    return at.getElements() * row.getElementTypeBitWidth() / 8;
  }

  //===--------------------------------------------------------------------===//
  // Exports
  //===--------------------------------------------------------------------===//

  /// espalier_model_NAME, and weakly the name that the loader looks for.
  void emitQuery(llvm::Constant *model) {
    auto emit = [&](const Twine &symbol, llvm::GlobalValue::LinkageTypes link) {
      auto *function = llvm::Function::Create(
          llvm::FunctionType::get(pointer, false), link, symbol, module);
      function->setVisibility(llvm::GlobalValue::DefaultVisibility);
      llvm::IRBuilder<> builder(
          llvm::BasicBlock::Create(context, "", function));
      builder.CreateRet(model);
    };
    emit("espalier_model_" + getIdentifier(name),
         llvm::GlobalValue::ExternalLinkage);
    emit(ESPALIER_MODEL_QUERY_SYMBOL, llvm::GlobalValue::WeakAnyLinkage);
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
  StringRef name;
  const TargetProcessor &processor;
  llvm::Type *i32, *i64;
  llvm::PointerType *pointer;
  llvm::StringMap<llvm::Constant *> strings;
  llvm::DenseMap<Value, uint32_t> bufferNumbers, weightNumbers;
  llvm::DenseMap<Value, std::pair<unsigned, unsigned>> lifetimes;
};
} // namespace

std::string espalier::getIdentifier(StringRef name) {
  std::string identifier;
  for (char c : name)
    identifier += llvm::isAlnum(c) ? c : '_';
  if (identifier.empty() || llvm::isDigit(identifier[0]))
    identifier.insert(0, "_");
  return identifier;
}

std::unique_ptr<llvm::Module>
espalier::translateModelToLLVMIR(ModuleOp module, llvm::LLVMContext &context,
                                 StringRef name,
                                 const TargetProcessor &processor) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module->getContext()->appendDialectRegistry(registry);

  // The translation knows kernels only.
  OwningOpRef<ModuleOp> kernels = module.clone();
  for (model::EntryOp entry :
       llvm::make_early_inc_range(kernels->getOps<model::EntryOp>()))
    entry.erase();
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(*kernels, context, name);
  if (!translated)
    return nullptr;
  llvm::TargetMachine &machine = *processor.machine;
  translated->setTargetTriple(machine.getTargetTriple());
  translated->setDataLayout(machine.createDataLayout());
  // Nothing leaves the library but the queries, whatever it is called.
  for (llvm::Function &function : *translated) {
    if (function.isDeclaration())
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width",
                       std::to_string(processor.vectorBits));
    function.addFnAttr(llvm::Attribute::NoUnwind);
    // A loop that fills with zeros must not become a call of memset: a model's
    // library links with nothing.
    function.addFnAttr("no-builtins");
  }
  if (failed(ModelEmitter(*translated, name, processor).emit(module)))
    return nullptr;
  return translated;
}
