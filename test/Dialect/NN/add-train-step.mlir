// RUN: split-file %s %t
// RUN: espalier-opt %t/vector.mlir --add-train-step="clip=0 decay=0" | FileCheck %s --check-prefix=SGD
// RUN: espalier-opt %t/vector.mlir --add-train-step="clip=0" | FileCheck %s --check-prefix=DECAY
// RUN: espalier-opt %t/vector.mlir --add-train-step="decay=0" | FileCheck %s --check-prefix=CLIP
// RUN: espalier-opt %t/vector.mlir --add-train-step="optimizer=momentum clip=0 decay=0 momentum=0.5 name=step" | FileCheck %s --check-prefix=MOMENTUM
// RUN: espalier-opt %t/vector.mlir --add-train-step="optimizer=adagrad clip=0 decay=0 epsilon=0.25" | FileCheck %s --check-prefix=ADAGRAD
// RUN: espalier-opt %t/vector.mlir --add-train-step="optimizer=adam clip=0 beta1=0.75 beta2=0.875 epsilon=0.25" | FileCheck %s --check-prefix=ADAM
// RUN: espalier-opt %t/table.mlir --add-train-step="optimizer=momentum momentum=0.5" | FileCheck %s --check-prefix=TABLE
// RUN: espalier-opt %t/several.mlir --add-train-step="clip=0 decay=0" | FileCheck %s --check-prefix=SEVERAL

// The gradient takes the entry's name, its gradients' place is taken by new
// values, and other results stay. b - rate (scale d).
// SGD-NOT: @loss.gradient
// SGD-LABEL: func.func @train_step
// SGD-SAME: %[[B:[^ ]*]]: tensor<8xf32> {nn.param = "b"}, %[[D:[^ ]*]]: tensor<8xf32> {nn.input = "d"}
// SGD-SAME: %[[RATE:[^ ]*]]: tensor<f32> {nn.input = "learning_rate"}, %[[SCALE:[^ ]*]]: tensor<f32> {nn.input = "gradient_scale"})
// SGD-SAME: -> (tensor<8xf32> {nn.output = "d"}, tensor<8xf32> {nn.update = "b"}) {
// SGD-NEXT: %[[FACTOR:.*]] = nn.broadcast %[[SCALE]] : tensor<f32> -> tensor<8xf32>
// SGD-NEXT: %[[G:.*]] = arith.mulf %[[D]], %[[FACTOR]]
// SGD-NEXT: %[[RATES:.*]] = nn.broadcast %[[RATE]]
// SGD-NEXT: %[[STEP:.*]] = arith.mulf %[[RATES]], %[[G]]
// SGD-NEXT: %[[NEW:.*]] = arith.subf %[[B]], %[[STEP]]
// SGD-NEXT: return %[[D]], %[[NEW]]

// The decay is one more argument: g + decay b.
// DECAY-LABEL: func.func @train_step
// DECAY-SAME: %[[B:[^ ]*]]: tensor<8xf32> {nn.param = "b"}, %[[D:[^ ]*]]: tensor<8xf32>
// DECAY-SAME: %[[SHARE:[^ ]*]]: tensor<f32> {nn.input = "weight_decay"})
// DECAY: %[[G:.*]] = arith.mulf %[[D]], %{{.*}}
// DECAY: %[[DECAYS:.*]] = nn.broadcast %[[SHARE]]
// DECAY-NEXT: %[[BACK:.*]] = arith.mulf %[[DECAYS]], %[[B]]
// DECAY-NEXT: %[[SUM:.*]] = arith.addf %[[G]], %[[BACK]]
// DECAY-NEXT: %[[STEP:.*]] = arith.mulf %{{.*}}, %[[SUM]]
// DECAY-NEXT: %[[NEW:.*]] = arith.subf %[[B]], %[[STEP]]
// DECAY-NEXT: return %[[D]], %[[NEW]]

// The length of the gradient, as scaled, is one more result. The factor is
// scale longest / length if that is too long, unless 0 allows any length.
// CLIP-LABEL: func.func @train_step
// CLIP-SAME: %[[D:[^ ]*]]: tensor<8xf32> {nn.input = "d"}
// CLIP-SAME: %[[SCALE:[^ ]*]]: tensor<f32> {nn.input = "gradient_scale"}, %[[LONGEST:[^ ]*]]: tensor<f32> {nn.input = "clip_norm"})
// CLIP-SAME: -> (tensor<8xf32> {nn.output = "d"}, tensor<f32> {nn.output = "gradient_norm"}, tensor<8xf32> {nn.update = "b"})
// CLIP-DAG: %[[SIZE:.*]] = math.absf %[[SCALE]]
// CLIP-DAG: %[[SQUARES:.*]] = arith.mulf %[[D]], %[[D]]
// CLIP: %[[SUM:.*]] = nn.sum %[[SQUARES]] : tensor<8xf32>
// CLIP-NEXT: %[[ROOT:.*]] = math.sqrt %[[SUM]]
// CLIP-NEXT: %[[LENGTH:.*]] = arith.mulf %[[ROOT]], %[[SIZE]]
// CLIP-NEXT: %[[RATIO:.*]] = arith.divf %[[LONGEST]], %[[LENGTH]]
// CLIP-NEXT: %[[CLIPPED:.*]] = arith.mulf %[[SCALE]], %[[RATIO]]
// CLIP-NEXT: %[[TOO_LONG:.*]] = arith.cmpf ogt, %[[LENGTH]], %[[LONGEST]]
// CLIP-NEXT: %[[ALLOWED:.*]] = arith.select %[[TOO_LONG]], %[[CLIPPED]], %[[SCALE]]
// CLIP: %[[CLIPS:.*]] = arith.cmpf ogt, %[[LONGEST]], %{{.*}}
// CLIP-NEXT: %[[FACTOR:.*]] = arith.select %[[CLIPS]], %[[ALLOWED]], %[[SCALE]]
// CLIP-NEXT: %[[FACTORS:.*]] = nn.broadcast %[[FACTOR]]
// CLIP-NEXT: arith.mulf %[[D]], %[[FACTORS]]
// CLIP: return %[[D]], %[[LENGTH]], %{{.*}}

// m becomes momentum m + g, and what is subtracted is rate m.
// MOMENTUM-LABEL: func.func @step
// MOMENTUM-SAME: %[[B:[^ ]*]]: tensor<8xf32> {nn.param = "b"}
// MOMENTUM-SAME: %[[M:[^ ]*]]: tensor<8xf32> {nn.state = "b.momentum"})
// MOMENTUM-SAME: tensor<8xf32> {nn.update = "b"}, tensor<8xf32> {nn.update = "b.momentum"})
// MOMENTUM: %[[G:.*]] = arith.mulf
// MOMENTUM: %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<8xf32>
// MOMENTUM-NEXT: %[[OLD:.*]] = arith.mulf %[[HALF]], %[[M]]
// MOMENTUM-NEXT: %[[NOW:.*]] = arith.addf %[[OLD]], %[[G]]
// MOMENTUM-NEXT: %[[STEP:.*]] = arith.mulf %{{.*}}, %[[NOW]]
// MOMENTUM-NEXT: %[[NEW:.*]] = arith.subf %[[B]], %[[STEP]]
// MOMENTUM-NEXT: return %{{.*}}, %[[NEW]], %[[NOW]]

// s becomes s + g g, and what is subtracted is rate g / (sqrt s + epsilon).
// ADAGRAD-LABEL: func.func @train_step
// ADAGRAD-SAME: %[[S:[^ ]*]]: tensor<8xf32> {nn.state = "b.squares"})
// ADAGRAD: %[[G:.*]] = arith.mulf
// ADAGRAD: %[[SQUARE:.*]] = arith.mulf %[[G]], %[[G]]
// ADAGRAD-NEXT: %[[NOW:.*]] = arith.addf %[[S]], %[[SQUARE]]
// ADAGRAD-NEXT: %[[EPSILON:.*]] = arith.constant dense<2.500000e-01>
// ADAGRAD-NEXT: %[[ROOT:.*]] = math.sqrt %[[NOW]]
// ADAGRAD-NEXT: %[[SUM:.*]] = arith.addf %[[ROOT]], %[[EPSILON]]
// ADAGRAD-NEXT: %[[SCALED:.*]] = arith.divf %[[G]], %[[SUM]]
// ADAGRAD-NEXT: arith.mulf %{{.*}}, %[[SCALED]]
// ADAGRAD: return %{{.*}}, %{{.*}}, %[[NOW]]

// Steps are counted, and correct both averages for their start at zeros. The
// decay is none of the gradient: it is added to the change.
// ADAM-LABEL: func.func @train_step
// ADAM-SAME: %[[B:[^ ]*]]: tensor<8xf32> {nn.param = "b"}
// ADAM-SAME: %[[STEPS:[^ ]*]]: tensor<f32> {nn.state = "optimizer.steps"}, %[[M:[^ ]*]]: tensor<8xf32> {nn.state = "b.mean"}, %[[S:[^ ]*]]: tensor<8xf32> {nn.state = "b.squares"})
// ADAM-SAME: tensor<f32> {nn.update = "optimizer.steps"}, tensor<8xf32> {nn.update = "b"}, tensor<8xf32> {nn.update = "b.mean"}, tensor<8xf32> {nn.update = "b.squares"})
// ADAM: %[[NOW:.*]] = arith.addf %[[STEPS]], %{{.*}}
// ADAM: %[[BETA1:.*]] = arith.constant dense<7.500000e-01> : tensor<f32>
// ADAM-NEXT: %[[POWER1:.*]] = math.powf %[[BETA1]], %[[NOW]]
// ADAM-NEXT: %[[REST1:.*]] = arith.subf %{{.*}}, %[[POWER1]]
// ADAM-NEXT: %[[CORRECTION1:.*]] = arith.divf %{{.*}}, %[[REST1]]
// ADAM: %[[BETA2:.*]] = arith.constant dense<8.750000e-01> : tensor<f32>
// ADAM-NEXT: %[[POWER2:.*]] = math.powf %[[BETA2]], %[[NOW]]
// ADAM-NEXT: %[[REST2:.*]] = arith.subf %{{.*}}, %[[POWER2]]
// ADAM-NEXT: %[[CORRECTION2:.*]] = arith.divf %{{.*}}, %[[REST2]]
// ADAM: %[[G:.*]] = arith.mulf
// ADAM: %[[PULL:.*]] = arith.mulf %{{.*}}, %[[B]]
// ADAM-NEXT: %[[QUARTER:.*]] = arith.constant dense<2.500000e-01> : tensor<8xf32>
// ADAM-NEXT: %[[SHARE1:.*]] = arith.mulf %[[QUARTER]], %[[G]]
// ADAM-NEXT: %[[BETAS1:.*]] = arith.constant dense<7.500000e-01> : tensor<8xf32>
// ADAM-NEXT: %[[OLD1:.*]] = arith.mulf %[[BETAS1]], %[[M]]
// ADAM-NEXT: %[[MEAN:.*]] = arith.addf %[[OLD1]], %[[SHARE1]]
// ADAM-NEXT: %[[SQUARE:.*]] = arith.mulf %[[G]], %[[G]]
// ADAM-NEXT: %[[EIGHTH:.*]] = arith.constant dense<1.250000e-01> : tensor<8xf32>
// ADAM-NEXT: %[[SHARE2:.*]] = arith.mulf %[[EIGHTH]], %[[SQUARE]]
// ADAM-NEXT: %[[BETAS2:.*]] = arith.constant dense<8.750000e-01> : tensor<8xf32>
// ADAM-NEXT: %[[OLD2:.*]] = arith.mulf %[[BETAS2]], %[[S]]
// ADAM-NEXT: %[[SQUARES:.*]] = arith.addf %[[OLD2]], %[[SHARE2]]
// ADAM-NEXT: %[[SPREAD1:.*]] = nn.broadcast %[[CORRECTION1]]
// ADAM-NEXT: %[[CORRECTED1:.*]] = arith.mulf %[[MEAN]], %[[SPREAD1]]
// ADAM-NEXT: %[[SPREAD2:.*]] = nn.broadcast %[[CORRECTION2]]
// ADAM-NEXT: %[[CORRECTED2:.*]] = arith.mulf %[[SQUARES]], %[[SPREAD2]]
// ADAM: %[[ROOT:.*]] = math.sqrt %[[CORRECTED2]]
// ADAM-NEXT: %[[SUM:.*]] = arith.addf %[[ROOT]], %{{.*}}
// ADAM-NEXT: %[[CHANGE:.*]] = arith.divf %[[CORRECTED1]], %[[SUM]]
// ADAM-NEXT: %[[ALL:.*]] = arith.addf %[[CHANGE]], %[[PULL]]
// ADAM-NEXT: %[[STEP:.*]] = arith.mulf %{{.*}}, %[[ALL]]
// ADAM-NEXT: %[[NEW:.*]] = arith.subf %[[B]], %[[STEP]]
// ADAM-NEXT: return %{{.*}}, %[[NOW]], %[[NEW]], %[[MEAN]], %[[SQUARES]]

// Of a table only the rows that were looked up change, each once: a group over
// them, with the scalars as inputs. They alone count for the length.
// TABLE-LABEL: func.func @train_step
// TABLE-SAME: %[[E:[^ ]*]]: tensor<100x8xf32> {nn.param = "E"}, %[[ROWS:[^ ]*]]: tensor<?x8xf32> {nn.input = "d"}, %[[IDS:[^ ]*]]: tensor<?xi32> {nn.input = "ids"}
// TABLE-SAME: %[[M:[^ ]*]]: tensor<100x8xf32> {nn.state = "E.momentum"}
// TABLE: %[[SUMS:.*]], %[[OWNERS:.*]] = nn.combine_rows %[[ROWS]] by %[[IDS]]
// TABLE: %[[SQUARES:.*]] = arith.mulf %[[SUMS]], %[[SUMS]] : tensor<?x8xf32>
// TABLE-NEXT: %[[PER_ROW:.*]] = nn.sum %[[SQUARES]] : tensor<?x8xf32>
// TABLE-NEXT: nn.sum_rows %[[PER_ROW]] : tensor<?xf32>
// TABLE: %[[OLD:.*]] = nn.embedding %[[E]][%[[OWNERS]]]
// TABLE-NEXT: %[[OLD_M:.*]] = nn.embedding %[[M]][%[[OWNERS]]]
// TABLE-NEXT: %[[NEW:.*]]:2 = nn.elementwise(%[[SUMS]], %[[OLD]], %[[OLD_M]], %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
// TABLE: nn.broadcast
// TABLE: nn.yield
// TABLE: %[[NEW_E:.*]] = nn.update_rows %[[E]] by %[[OWNERS]] with %[[NEW]]#0
// TABLE-NEXT: %[[NEW_M:.*]] = nn.update_rows %[[M]] by %[[OWNERS]] with %[[NEW]]#1
// TABLE-NEXT: return %{{.*}}, %[[NEW_E]], %[[NEW_M]]

// Scalars and matrices train as well; a table that is looked up twice is updated
// as a whole.
// SEVERAL-LABEL: func.func @train_step
// SEVERAL-SAME: -> (tensor<f32> {nn.update = "s"}, tensor<100x8xf32> {nn.update = "E"})
// SEVERAL-NOT: nn.combine_rows
// SEVERAL: arith.subf %{{.*}}, %{{.*}} : tensor<f32>
// SEVERAL: arith.subf %{{.*}}, %{{.*}} : tensor<100x8xf32>
// SEVERAL-NOT: nn.update_rows
// SEVERAL: return

//--- vector.mlir
func.func @loss.gradient(%b: tensor<8xf32> {nn.param = "b"}, %d: tensor<8xf32> {nn.input = "d"})
    -> (tensor<8xf32> {nn.output = "d"}, tensor<8xf32> {nn.output = "gradient.b", nn.gradient = "b"}) {
  return %d, %d : tensor<8xf32>, tensor<8xf32>
}

//--- table.mlir
func.func @loss.gradient(%E: tensor<100x8xf32> {nn.param = "E"}, %d: tensor<?x8xf32> {nn.input = "d"},
                         %ids: tensor<?xi32> {nn.input = "ids"})
    -> (tensor<100x8xf32> {nn.output = "gradient.E", nn.gradient = "E"}) {
  %0 = nn.scatter_rows %d by %ids : tensor<?x8xf32>, tensor<?xi32> -> tensor<100x8xf32>
  return %0 : tensor<100x8xf32>
}

//--- several.mlir
func.func @loss.gradient(%s: tensor<f32> {nn.param = "s"}, %E: tensor<100x8xf32> {nn.param = "E"},
                         %x: tensor<f32> {nn.input = "x"}, %d: tensor<?x8xf32> {nn.input = "d"},
                         %ids: tensor<?xi32> {nn.input = "ids"})
    -> (tensor<f32> {nn.output = "gradient.s", nn.gradient = "s"},
        tensor<100x8xf32> {nn.output = "gradient.E", nn.gradient = "E"}) {
  %0 = nn.scatter_rows %d by %ids : tensor<?x8xf32>, tensor<?xi32> -> tensor<100x8xf32>
  %1 = arith.addf %0, %0 : tensor<100x8xf32>
  return %x, %1 : tensor<f32>, tensor<100x8xf32>
}
