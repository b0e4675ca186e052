// What the library says of typical mistakes: what is wrong, the values, the line, and what to do. A row is a mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace ag = asyncgrad;

namespace {

using ag::Tensor;
using testing::HasSubstr;

struct Block {
  ag::nn::Sequential body{ag::nn::Dense(8, 16, ag::relu), ag::nn::Dense(12, 8)};
  Tensor operator()(const Tensor& x) const { return x + body(x); }
  void members(ag::nn::Members& m) { m("body", body); }
};
struct Model {
  ag::nn::Dense in{4, 8};
  std::vector<Block> blocks{Block(), Block()};
  Tensor operator()(const Tensor& x) const {
    Tensor h = in(x);
    for (const Block& block : blocks) h = block(h);
    return h;
  }
  void members(ag::nn::Members& m) {
    m("in", in);
    m("blocks", blocks);
  }
};
struct Twice {
  Tensor a = ag::ones({1});
  Tensor operator()(const Tensor& x) const { return x * a; }
  void members(ag::nn::Members& m) {
    m("a", a);
    m("a", a);
  }
};
struct Dotted {
  Tensor a = ag::ones({1});
  void members(ag::nn::Members& m) { m("a.b", a); }
};

Tensor batch() { return ag::ones({6, 4}); }
Tensor labels() { return ag::zeros({6}, {.dtype = ag::int64}); }

std::string file_of(const std::string& contents) {
  static const ag::tests::TemporaryFolder folder;
  static int count = 0;
  const std::string path = folder.file("file" + std::to_string(count++));
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}
std::string saved(const ag::nn::Dense& layer) {
  const std::string path = file_of("");
  ag::nn::save(path, layer);
  return path;
}
void load_dense(const std::string& path) {
  ag::nn::Dense layer(4, 2);
  ag::nn::load(path, layer);
}
void on_another_thread(const std::function<void()>& call) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      call();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error != nullptr) std::rethrow_exception(error);
}

struct Mistake {
  const char* name;
  std::function<void()> program;
  std::vector<std::string> message;  // parts of it, beside the line
};

std::vector<Mistake> mistakes() {
  return {
      // --- Shapes
      {"DeepInASequential",
       [] {
         ag::nn::Sequential{ag::nn::Dense(4, 8), Block(), ag::nn::Dense(8, 1)}(batch());
       },
       {"[Dense] needs x (…, 12), got (6, 16); weight (12, 8); Dense(16, 8) takes it", "in layer 1.body.1",
        "of Sequential{Dense, Block, Dense}"}},
      {"DeepInAStruct",
       [] { Model()(batch()); },
       {"needs x (…, 12), got (6, 16)", "in layer 1 of Sequential{Dense, Dense}"}},
      {"DeepInAStructThatWasVisited",
       [] {
         const Model model;
         ag::nn::parameters(model);
         model(batch());
       },
       {"needs x (…, 12), got (6, 16)", "in layer blocks.0.body.1"}},
      {"FlattenForgotten",
       [] {
         ag::nn::Sequential{ag::nn::Conv2d(1, 2, 3), ag::nn::Dense(72, 4)}(ag::ones({2, 1, 8, 8}));
       },
       {"[Dense] needs x (…, 72), got (2, 2, 6, 6); weight (72, 4); Flatten before it makes x (2, 72)"}},
      {"FlattenForgottenAndAnotherSize",
       [] {
         ag::nn::Dense(70, 4)(ag::ones({2, 2, 6, 6}));
       },
       {"Flatten before it makes x (2, 72), which Dense(72, 4) takes"}},
      {"ChannelsLast",
       [] {
         ag::nn::Conv2d(3, 2, 3)(ag::ones({2, 8, 8, 3}));
       },
       {"[conv2d] the weight is for x (N, 3, H, W) in 1 group: x (2, 8, 8, 3), weight (2, 3, 3, 3)",
        "x looks like (N, H, W, C): permute(x, {0, 3, 1, 2}) makes it (2, 3, 8, 8)"}},
      {"ChannelsLastOfBatchNorm",
       [] {
         ag::nn::BatchNorm(3)(ag::ones({2, 8, 8, 3}));
       },
       {"[BatchNorm] needs x (N, 3) or (N, 3, …)", "got (2, 8, 8, 3)", "permute(x, {0, 3, 1, 2})"}},
      {"BatchOfOne",
       [] {
         ag::nn::BatchNorm(3)(ag::ones({1, 3}));
       },
       {"two elements of each channel in training, got (1, 3); use a larger batch, or predict under Inference"}},
      {"OtherChannels",
       [] {
         ag::nn::Conv2d(3, 2, 3)(ag::ones({2, 5, 8, 8}));
       },
       {"x (N, 3, H, W)", "x (2, 5, 8, 8)", "a weight (2, 5, 3, 3) fits x"}},
      {"NoAxisOfSamples",
       [] {
         ag::nn::Conv2d(3, 2, 3)(ag::ones({3, 8, 8}));
       },
       {"[conv2d] needs x (N, C, H, W)", "x (3, 8, 8)", "x.reshape({1, 3, 8, 8}) is a batch of one sample"}},
      {"NoAxisOfSamplesInPooling",
       [] {
         ag::nn::MaxPool2d(2)(ag::ones({3, 8, 8}));
       },
       {"needs x (N, C, H, W), got (3, 8, 8)", "x.reshape({1, 3, 8, 8})"}},
      {"BatchFirst",
       [] {
         ag::nn::LSTM(4, 3)(ag::ones({2, 5, 7}));
       },
       {"[LSTM] needs x (T, N, 4), time first, with T > 0, got (2, 5, 7); LSTM(7, 3) takes it"}},
      {"TransposedOperand",
       [] {
         ag::matmul(ag::ones({2, 3}), ag::ones({4, 3}));
       },
       {"[matmul] inner dimensions differ: x (2, 3), w (4, 3); they fit with w transposed"}},
      {"NoBroadcast",
       [] {
         ag::ones({2, 3}) + ag::ones({2});
       },
       {"[add] shapes do not broadcast: x (2, 3), y (2); y.reshape({2, 1}) is repeated along the last axes"}},

      // --- Types and devices
      {"Float64Data",
       [] {
         ag::nn::Dense(4, 2)(Tensor::from(std::vector<double>(24, 1), {6, 4}));
       },
       {"[dense] types differ: x float64 (6, 4), weight float32 (4, 2); x.to(ag::float32) converts x"}},
      {"Pixels",
       [] {
         ag::nn::Dense(4, 2)(ag::zeros({6, 4}, {.dtype = ag::uint8}));
       },
       {"types differ: x uint8 (6, 4), weight float32 (4, 2); x.to(ag::float32) converts x"}},
      {"Float64Operand",
       [] { batch() * ag::ones({4}, {.dtype = ag::float64}); },
       {"[multiply] types differ: x float32 (6, 4), y float64 (4); y.to(ag::float32) converts y"}},
      {"Integers",
       [] { ag::exp(labels()); },
       {"[exp] int64 is not supported: x int64 (6); x.to(ag::float32) converts it"}},
      {"StoredIntegers",
       [] {
         ag::softmax(ag::zeros({6, 4}, {.dtype = ag::uint8}));
       },
       {"[softmax] uint8 is for storage: x uint8 (6, 4); x.to(ag::float32) converts it"}},
      {"FloatingLabels",
       [] { ag::cross_entropy(ag::nn::Dense(4, 2)(batch()), ag::zeros({6})); },
       {"[cross_entropy] labels must be int64 of one axis: labels float32 (6); labels.to(ag::int64) converts them"}},
      {"FloatingLabelsOfTheLoss",
       [] { ag::nn::softmax_cross_entropy(ag::nn::Dense(4, 2)(batch()), ag::zeros({6})); },
       {"needs labels of type int64, got float32 (6); labels.to(ag::int64) converts them"}},
      {"FloatingIndices",
       [] { ag::take(batch(), ag::zeros({2})); },
       {"[take] indices must be int64: indices float32 (2); indices.to(ag::int64) converts them"}},
      {"LabelsOfAnotherType",
       [] {
         ag::nn::l2_loss(ag::ones({6, 1}), labels());
       },
       {"[l2_loss] types differ: prediction float32 (6, 1), label int64 (6); label.to(ag::float32) converts label"}},
      {"AnotherDevice",
       [] {
         ag::set_engine_options({.cpu_parts = 2});
         const ag::nn::Dense layer(4, 2, ag::nn::DenseOptions{.device = "cpu:1"});
         layer(ag::ones({6, 4}, {.device = "cpu:0"}));
       },
       {"[dense] devices differ: x (6, 4) on cpu, weight (4, 2) on cpu:1; x.to(\"cpu:1\") copies x"}},
      {"AbsentPart",
       [] { batch().to("cpu:3"); },
       {"[device] there is no cpu:3 here, only cpu; EngineOptions::cpu_parts makes several of the CPU"}},
      {"UnknownDevice",
       [] { ag::zeros({3}, {.device = "gpu"}); },
       {"[device] no device is called 'gpu': cpu, cpu:0, cuda, cuda:1 …"}},
      {"AbsentAxis", [] { ag::sum(batch(), 2); }, {"[sum] there is no axis 2 in (6, 4); axes are -2 to 1"}},
      {"MaskOfNumbers",
       [] { ag::nn::L2Loss({.mask = ag::ones({6})}); },
       {"[L2Loss] mask must be of bool, got float32; mask != 0 makes one"}},
      {"AbsentDevice", [] { batch().to("cuda:100"); }, {"[device] there is no cuda:100 here, only cpu"}},
      {"ReadAsAnotherType",
       [] { ag::zeros({3}).to_vector<double>(); },
       {"[to_vector] the tensor is float32, not float64; x.to(ag::float64) converts it"}},
      {"ItemOfSeveral",
       [] { ag::zeros({3}).item(); },
       {"[item] the tensor has 3 elements, shape (3); to_vector<T>() reads all of them"}},
      {"Nothing",
       [] { ag::nn::Dense(4, 2)(Tensor()); },
       {"[Dense] a tensor that holds nothing, as Tensor{} does; assign one with values to it first"}},
      {"NothingInALoss", [] { ag::nn::l2_loss(Tensor(), batch()); }, {"[l2_loss] a tensor that holds nothing"}},

      // --- Labels, values that are known later
      {"LabelOutOfRange",
       [] {
         ag::cross_entropy(ag::ones({6, 2}), labels() + 2).wait();
       },
       {"[cross_entropy] label 2 at position 0 is outside 2 classes, which are numbered from 0"}},
      {"OneHotLabels",
       [] { ag::nn::softmax_cross_entropy(ag::nn::Dense(4, 2)(batch()), ag::one_hot(labels(), 2).to(ag::int64)); },
       {"needs logits (N, C) and labels (N), got (6, 2) and int64 (6, 2)",
        "argmax(labels, 1) makes indices of one-hot labels"}},
      {"IndexOutOfRange",
       [] {
         ag::nn::Embedding(5, 3)(Tensor::from({1, 9}, {2})).wait();
       },
       {"[take] index 9 at position 1 is outside 5 rows, which are numbered from 0"}},
      {"NotANumber",
       [] {
         const ag::DetectNan detect;
         ag::log(ag::full({2}, -0.5)).wait();
       },
       {"[log] made NaN: element 0 of float32 (2), from -0.5"}},
      {"TooMuchMemory",
       [] {
         ag::ones({1 << 24, 1 << 24}).wait();
       },
       {"[tensor] (16777216, 16777216) of float32 is more memory than a machine can address"}},

      // --- Gradients
      {"BackwardTwice",
       [] {
         const Tensor loss = ag::mean(ag::square(ag::nn::Dense(4, 2)(batch())));
         loss.backward();
         loss.backward();
       },
       {"[backward] an earlier backward() has dropped what mean, queued at mistakes_test.cpp:",
        "pass retain_graph = true to that call, or compute the loss again"}},
      {"BackwardOfNoScalar",
       [] { ag::nn::Dense(4, 2)(batch()).backward(); },
       {"[backward] (6, 2) is not a scalar; take the mean or the sum, or pass its gradient"}},
      {"BackwardWithoutParameters",
       [] { ag::mean(batch()).backward(); },
       {"[backward] the tensor () depends on no leaf whose gradient is wanted, or was computed under NoGrad",
        "parameter() or requires_grad_() makes a leaf"}},
      {"BackwardUnderNoGrad",
       [] {
         const ag::NoGrad no_grad;
         ag::mean(ag::nn::Dense(4, 2)(batch())).backward();
       },
       {"or was computed under NoGrad", "EnableGrad records within NoGrad"}},
      {"LeafWrittenInPlace",
       [] {
         Tensor w = ag::parameter(ag::ones({3}));
         w += 1;
       },
       {"[+=] (3) is a leaf whose gradient is wanted; write it under NoGrad"}},
      {"SavedValueWritten",
       [] {
         Tensor e = ag::exp(ag::parameter(ag::ones({3})));
         e *= 2;
         ag::sum(e).backward();
       },
       {"[exp] a tensor that its gradient needs was written in place afterwards: float32 (3)",
        "write after backward(), or into a clone()"}},

      // --- Files
      {"FileOfAnotherNetwork",
       [] {
         ag::nn::Sequential other{ag::nn::Dense(4, 2)};
         ag::nn::load(saved(ag::nn::Dense(4, 2)), other);
       },
       {"does not fit", "\"weight\", F32 (4, 2), is left over; Rename{\"weight\", \"0.weight\"} makes it \"0.weight\"",
        "With strict = false what is missing or left over is passed over"}},
      {"TransposedWeights",
       [] { load_dense(saved(ag::nn::Dense(2, 4))); },
       {"\"weight\" is F32 (2, 4) in the file, F32 (4, 2) here; Rename{\"weight\", \"weight\", true} transposes it",
        "\"bias\" is F32 (4) in the file, F32 (2) here"}},
      {"WeightsOfAnotherType",
       [] { load_dense(saved(ag::nn::Dense(4, 2, ag::nn::DenseOptions{.dtype = ag::float64}))); },
       {"\"weight\" is F64 (4, 2) in the file, F32 (4, 2) here; nothing is converted, so make it float64 here"}},
      {"FileOfTorch",
       [] { load_dense(file_of("PK\x03\x04 a zip file of torch.save")); },
       {"[nn::load]",
        "is a zip archive, such as a torch.save file, no safetensors file; in Python: safetensors.torch"}},
      {"Pickle",
       [] { load_dense(file_of(std::string("\x80\x02}q\x00X\x06\x00\x00\x00weight", 15))); },
       {"is a pickle, such as an old torch.save file, no safetensors file"}},
      {"FileOfMxnet",
       [] { load_dense(file_of(std::string("\x12\x01", 2) + std::string(40, '\0'))); },
       {"is a file of MXNet's parameters, no safetensors file"}},
      {"AnotherFile",
       [] { load_dense(file_of("weight,bias\n0.5,1\n")); },
       {"is no safetensors file: its header would have", "nn::save and safetensors.save_file write such files"}},
      {"AbsentFile",
       [] { load_dense("nowhere.safetensors"); },
       {"[nn::load] cannot read 'nowhere.safetensors': No such file or directory, in the folder '/"}},

      // --- Layers and optimisers
      {"BadRate",
       [] { ag::optim::Adam(ag::nn::parameters(ag::nn::Dense(4, 2)), {.lr = -1}); },
       {"[Adam] lr must be finite and not negative, got -1"}},
      {"SlopeThatIsNoNumber", [] { ag::nn::LeakyReLU(NAN); }, {"[LeakyReLU] slope must be finite, got nan"}},
      {"ScaleThatIsInfinite",
       [] { static_cast<void>(ag::nn::ELU(-INFINITY)); },
       {"[ELU] scale must be finite, got -inf"}},
      {"InitialSlopeThatIsNoNumber",
       [] { ag::nn::PReLU(1, {.initial_slope = NAN}); },
       {"[PReLU] initial_slope must be finite, got nan"}},
      {"SlopeThatIsNoNumberInAFunction",
       [] { ag::leaky_relu(batch(), NAN); },
       {"[leaky_relu] slope must be finite, got nan"}},
      {"ScaleThatIsNoNumberInAFunction", [] { ag::elu(batch(), NAN); }, {"[elu] scale must be finite, got nan"}},
      {"DeltaThatIsNoNumber", [] { ag::huber(batch(), NAN); }, {"[huber] delta must be positive, got nan"}},
      {"MarginThatIsNoNumber",
       [] { ag::nn::CosineLoss({.margin = NAN}); },
       {"[CosineLoss] margin must be finite, got nan"}},
      {"ClassWeightOfIntegers",
       [] { ag::nn::SoftmaxCrossEntropy({.class_weight = ag::ones({3}, {.dtype = ag::int64})}); },
       {"[SoftmaxCrossEntropy] class_weight must be of a floating type, got int64 (3); class_weight.to(ag::float32) "
        "converts it"}},
      {"WeightOfIntegers",
       [] { ag::nn::L2Loss({.weight = ag::ones({3}, {.dtype = ag::int64})}); },
       {"[L2Loss] weight must be of a floating type, got int64 (3); weight.to(ag::float32) converts it"}},
      {"PositiveWeightOfIntegers",
       [] { ag::nn::BinaryCrossEntropy({.positive_weight = ag::ones({1}, {.dtype = ag::int64})}); },
       {"[BinaryCrossEntropy] positive_weight must be of a floating type, got int64 (1)"}},
      {"WeightOfAnotherType",
       [] { ag::nn::l2_loss(batch(), batch(), {.weight = ag::ones({4}, {.dtype = ag::float64})}); },
       {"[l2_loss] types differ: prediction float32 (6, 4), weight float64 (4); weight.to(ag::float32) converts "
        "weight"}},
      {"NoParameters",
       [] { ag::optim::SGD(ag::nn::parameters(ag::nn::Sequential{ag::relu})); },
       {"[SGD] the list of parameters is empty", "a network without any has nothing to train"}},
      {"ParameterWithoutGradient",
       [] { ag::optim::SGD({ag::ones({3})}); },
       {"[SGD] parameter 0 of shape (3) requires no gradient; parameter() or requires_grad_() makes it one"}},
      {"NumbersOnAnotherThread",
       [] { on_another_thread([] { ag::randn({3}); }); },
       {"[random] the default generator belongs to the first thread that used it; pass a Generator"}},
      {"TwoMembersOfAName",
       [] { ag::nn::parameters(Twice()); },
       {"[members] two members are called \"a\"; each needs a name of its own"}},
      {"MemberWithADot",
       [] { ag::nn::summary(Dotted()); },
       {"[members] a member's name must not be empty or have a dot"}},
      {"NoSuchLayer",
       [] {
         ag::nn::Sequential{ag::nn::Dense(4, 2), ag::relu}.at<ag::nn::Dense>(2);
       },
       {"[Sequential::at] there is no layer 2 among 2, numbered from 0: Dense, function"}},
      {"LayerOfAnotherKind",
       [] {
         ag::nn::Sequential{ag::nn::Dense(4, 2), ag::relu}.at<ag::nn::Dense>(1);
       },
       {"[Sequential::at] layer 1 of 2 is not a Dense, but a function: Dense, function"}},

      // --- Operations of the program's own
      {"ExceptionOfAKernel",
       [] {
         ag::custom("mine", {{3}}, {batch()}, [](const ag::CustomCall&) {
           throw std::runtime_error("no licence");
         }).wait();
       },
       {"[mine] no licence"}},
      {"ResultReadAsAnotherType",
       [] {
         ag::custom("mine", {{3}}, {batch()}, [](const ag::CustomCall& call) { call.output<double>()[0] = 1; }).wait();
       },
       {"[mine] output 0 is float32 (3), and was asked for as float64; ask for it in its own type"}},
      {"GradientOfAnotherShape",
       [] {
         const Tensor w = ag::parameter(ag::ones({3}));
         const auto backward = [](const auto&) { return ag::ones({4}); };
         ag::sum(ag::with_gradient("mine", w.detach() * 2, {w}, backward)).backward();
       },
       {"[mine] the gradient of input 0 has the shape (4), the input (3); both are to have one shape"}},
  };
}

class Mistakes : public testing::TestWithParam<Mistake> {
 public:
  ~Mistakes() override {
    ag::recover();
    ag::set_engine_options({});
  }
};

// The line is that of the call, of the list of members, or of the operation that failed.
TEST_P(Mistakes, SayWhatAndWhereAndWhatToDo) {
  const std::string message = ag::tests::what_of<std::exception>(GetParam().program);
  for (const std::string& part : GetParam().message) EXPECT_THAT(message, HasSubstr(part));
  EXPECT_THAT(message, HasSubstr("at mistakes_test.cpp:"));
}
INSTANTIATE_TEST_SUITE_P(All, Mistakes, testing::ValuesIn(mistakes()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
