#include "asyncgrad/nn/save.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/nn/safetensors/file.h"
#include "tests/support/files.h"
#include "tests/support/limited_files.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

std::vector<std::string> contents(const std::vector<std::pair<std::string, Tensor>>& state) {
  std::vector<std::string> all;
  for (const auto& [name, tensor] : state) all.push_back(name + " " + tensor.str());
  return all;
}

// A network with several types, a buffer, an absent tensor and a shared one.
struct SavedNet {
  Dense first{3, 4}, exact{4, 2, nullptr, {.dtype = float64}};
  Tensor tied = first.weight, counts = zeros({2}, {.dtype = int64}), absent;
  void members(Members& m) {
    m("first", first);
    m("exact", exact);
    m("tied", tied);
    m("counts", counts);
    m("absent", absent);
  }
};

class Save : public testing::Test {
 protected:
  static constexpr const char* default_name = "net.safetensors";
  std::string file(const std::string& name = default_name) const { return folder_.file(name); }
  // Writes a file, as another program may.
  void put(const safetensors::NamedTensors& tensors) const { safetensors::write("test", file(), tensors, {}); }
  // The message of a load that fails, which must change nothing.
  template <class Layer>
  std::string refusal(Layer& layer, const LoadOptions& options = {}) const {
    const auto before = contents(state(layer));
    const std::string message = message_of([&] { load(file(), layer, options); });
    EXPECT_EQ(contents(state(layer)), before);
    return folder_.without_path(message, default_name);
  }
  // Expects that `save_it`, which waits until the file is written, leaves the old file where the new one does not fit
  // and where its values cannot be computed.
  template <class Call>
  void expect_failures_to_leave_the_old_file(const std::string& operation, Call save_it) const {
    Dense net(200, 30);
    save(file(), net);
    const auto saved = contents(state(net));
    net.bias.detach().fill_(1);
    {
      const tests::LimitedFiles limited(1000);
      EXPECT_THAT(message_of([&] { save_it(net); }),
                  HasSubstr("[" + operation + "] cannot write '" + file() + "': File too large"));
    }
    struct Failed {
      Tensor rows = take(ones({3, 2}), Tensor::from<std::int64_t>({5}, {1}));
      void members(Members& m) { m("rows", rows); }
    } failed;
    EXPECT_THAT(message_of([&] { save_it(failed); }), HasSubstr("index 5 at position 0"));
    recover();
    load(file(), net);
    EXPECT_EQ(contents(state(net)), saved);
    EXPECT_EQ(tests::number_of_files(folder_.path()), 1);
  }

 private:
  tests::TemporaryFolder folder_;
};

TEST_F(Save, KeepsEveryTensor) {
  SavedNet net;
  net.counts.fill_(7);
  save(file(), net);
  SavedNet other;
  const Tensor weight = other.first.weight;
  ASSERT_NE(contents(state(other)), contents(state(net)));
  load(file(), other);
  EXPECT_EQ(contents(state(other)), contents(state(net)));
  EXPECT_EQ(other.first.weight.impl(), weight.impl());
  EXPECT_EQ(other.first.weight.impl(), other.tied.impl());
  EXPECT_TRUE(other.first.weight.requires_grad() && other.first.weight.is_leaf());
  EXPECT_FALSE(other.counts.requires_grad());
}

struct OfEveryType {
  Tensor whole = zeros({2}, {.dtype = int32}), bytes = zeros({3}, {.dtype = uint8}),
         mask = zeros({5}, {.dtype = boolean}), half = zeros({3}, {.dtype = bfloat16});
  void members(Members& m) {
    m("whole", whole);
    m("bytes", bytes);
    m("mask", mask);
    m("half", half);
  }
};

TEST_F(Save, KeepsTheTypesOfStorage) {
  OfEveryType saved{.whole = Tensor::from<std::int32_t>({-5, 1 << 30}, {2}),
                    .bytes = Tensor::from<std::uint8_t>({0, 7, 255}, {3}),
                    .mask = Tensor::from({true, false, true, true, false}, {5}),
                    .half = Tensor::from({BFloat16(-1.5F), BFloat16(0.1F), BFloat16(1e30F)}, {3})};
  save(file(), saved);
  OfEveryType other;
  load(file(), other);
  EXPECT_EQ(contents(state(other)), contents(state(saved)));
}

// A bool in C++ may be no byte but 0 or 1, so that any other byte is read as true.
TEST_F(Save, MakesBoolsOfAllBytes) {
  OfEveryType net;
  net.mask = ones({5}, {.dtype = boolean});
  save(file(), net);
  std::fstream stream(file(), std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-1, std::ios::end);
  stream.put(static_cast<char>(0x80));
  stream.close();
  load(file(), net);
  EXPECT_EQ(net.mask.to_vector<bool>(), std::vector<bool>(5, true));
}

TEST_F(Save, TakesTheValuesThatAreQueued) {
  Tensor x = zeros({1000});
  struct Layer {
    Tensor x;
    void members(Members& m) { m("x", x); }
  } layer{x};
  for (int i = 0; i < 100; ++i) x += 1;
  save(file(), layer);
  x.fill_(0);
  load(file(), layer);
  EXPECT_EQ(x.slice(999, 1000).item(), 100);
}

TEST_F(Save, AnOptimiserGoesOnWithTheParametersThatAreLoaded) {
  Dense net(2, 1);
  optim::SGD sgd(parameters(net), {.lr = 1});
  save(file(), net);
  const std::vector<float> saved = net.weight.to_vector<float>();
  sum(net(ones({1, 2}))).backward();
  load(file(), net);
  sgd.step();
  EXPECT_THAT(net.weight.to_vector<float>(), ElementsAre(saved[0] - 1, saved[1] - 1));
}

TEST_F(Save, ListsAllThatDoesNotFit) {
  put({{"first.weight", zeros({4, 3})},
       {"first.bias", zeros({4}, {.dtype = float64})},
       {"exact.weight", zeros({4, 2}, {.dtype = float64})},
       {"left.over", zeros({5})},
       {"tied", zeros({3, 4, 1})}});
  SavedNet net;
  EXPECT_EQ(refusal(net),
            "[nn::load] does not fit:\n"
            "  \"first.bias\" is F64 (4) in the file, F32 (4) here; nothing is converted, so make it float64 here\n"
            "  \"first.weight\" is F32 (4, 3) in the file, F32 (3, 4) here; Rename{\"first.weight\", "
            "\"first.weight\", true} transposes it\n"
            "  \"tied\" is F32 (3, 4, 1) in the file, F32 (3, 4) here\n"
            "  \"exact.bias\", F64 (2), is missing in the file\n"
            "  \"counts\", I64 (2), is missing in the file\n"
            "  \"left.over\", F32 (5), is left over\n"
            "  With strict = false what is missing or left over is passed over");
}

TEST_F(Save, NotStrictTakesWhatBothHave) {
  put({{"first.bias", ones({4})}, {"left.over", zeros({5})}});
  SavedNet net;
  const std::vector<float> weight = net.first.weight.to_vector<float>();
  load(file(), net, {.strict = false});
  EXPECT_THAT(net.first.bias.to_vector<float>(), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(net.first.weight.to_vector<float>(), weight);
  put({{"first.bias", ones({5})}});
  EXPECT_THAT(refusal(net, {.strict = false}), HasSubstr("\"first.bias\" is F32 (5) in the file, F32 (4) here"));
}

TEST_F(Save, RenamesAndTransposes) {
  put({{"fc.weight", Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2})},
       {"fc.bias", Tensor::from<float>({7, 8, 9}, {3})}});
  Sequential net{Dense(2, 3), relu};
  load(file(), net, {.rename = {{"fc.weight", "0.weight", true}, {"fc.bias", "0.bias"}}});
  EXPECT_EQ(net.at<Dense>(0).weight.shape(), Shape({2, 3}));
  EXPECT_THAT(net.at<Dense>(0).weight.to_vector<float>(), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_THAT(net.at<Dense>(0).bias.to_vector<float>(), ElementsAre(7, 8, 9));
}

TEST_F(Save, RenamesMayExchangeNamesAndGiveOneTensorTwice) {
  put({{"a", ones({1})}, {"b", zeros({1})}});
  struct Layer {
    Tensor a = full({1}, 5), b = full({1}, 6), c = full({1}, 7);
    void members(Members& m) {
      m("a", a);
      m("b", b);
      m("c", c);
    }
  } layer;
  load(file(), layer, {.rename = {{"a", "b"}, {"b", "a"}, {"b", "c"}}});
  EXPECT_EQ(layer.a.item(), 0);
  EXPECT_EQ(layer.b.item(), 1);
  EXPECT_EQ(layer.c.item(), 0);
}

TEST_F(Save, BadRenamesAreListed) {
  put({{"weight", zeros({2, 3})}, {"bias", zeros({3})}, {"more", zeros({3})}});
  Dense net(2, 3);
  EXPECT_EQ(refusal(net, {.rename = {{"none", "bias"}, {"more", "nowhere"}}}),
            "[nn::load] does not fit:\n"
            "  \"none\", which is to be \"bias\", is not in the file\n"
            "  \"more\" is to be \"nowhere\", which is none of the tensors here");
  EXPECT_EQ(refusal(net, {.rename = {{"more", "bias"}}}),
            "[nn::load] does not fit:\n  \"more\" and \"bias\" are both to be \"bias\"");
  EXPECT_EQ(refusal(net, {.strict = false, .rename = {{"weight", "weight", true}, {"bias", "bias", true}}}),
            "[nn::load] does not fit:\n"
            "  \"weight\" is F32 (2, 3) in the file, to be transposed, F32 (2, 3) here\n"
            "  \"bias\" is to be transposed, but has the shape (3) here, not two axes");
}

TEST_F(Save, ASharedTensorNeedsOneOfItsNames) {
  SavedNet net;
  save(file(), net);
  auto tensors = state(net);
  std::erase_if(tensors, [](const auto& entry) { return entry.first == "first.weight"; });
  put(tensors);
  SavedNet other;
  load(file(), other);
  EXPECT_EQ(other.first.weight.to_vector<float>(), net.first.weight.to_vector<float>());
  tensors.emplace_back("first.weight", zeros({3, 4}));
  put(tensors);
  EXPECT_EQ(refusal(other),
            "[nn::load] does not fit:\n"
            "  \"first.weight\" and \"tied\" are one tensor here, with two values in the file");
}

TEST_F(Save, NamesATypeThatTheLibraryLacks) {
  const std::string header =
      R"({"weight":{"dtype":"U64","shape":[2,3],"data_offsets":[0,48]},"bias":{"dtype":"F32","shape":[3],)"
      R"("data_offsets":[48,60]}})";
  const std::uint64_t size = header.size();
  std::ofstream(file(), std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&size), 8) << header << std::string(60, '\0');
  Dense net(2, 3);
  EXPECT_EQ(refusal(net),
            "[nn::load] does not fit:\n"
            "  \"weight\" is U64 (2, 3) in the file, F32 (2, 3) here; there is no type for U64");
}

TEST_F(Save, WhatIsNotTheFormatIsRefused) {
  Dense net(2, 3);
  EXPECT_EQ(refusal(net), "[nn::load] cannot read '" + file() + "': No such file or directory");
  std::ofstream(file()) << "PK and so on, a file of another kind";
  EXPECT_THAT(refusal(net), HasSubstr("[nn::load] is no safetensors file"));
}

TEST_F(Save, LeavesTheOldFileIfAnythingFails) {
  expect_failures_to_leave_the_old_file("nn::save", [&](auto& layer) { save(file(), layer); });
}

TEST_F(Save, QueuedKeepsTheValuesAsOfTheCall) {
  SavedNet net;
  net.counts.fill_(7);
  const auto saved = contents(state(net));
  const Tensor bytes = save_queued(file(), net);
  net.counts.fill_(8);  // the training goes on
  const NoGrad no_grad;
  net.first.weight.fill_(0);
  const std::int64_t size_bytes = bytes.item<std::int64_t>();  // waits
  EXPECT_EQ(size_bytes, static_cast<std::int64_t>(std::filesystem::file_size(file())));
  SavedNet other;
  load(file(), other);
  EXPECT_EQ(contents(state(other)), saved);
}

TEST_F(Save, TheLastQueuedFileStays) {
  struct Layer {
    Tensor x = zeros({1000});
    void members(Members& m) { m("x", x); }
  } layer;
  for (int i = 0; i < 20; ++i) {
    layer.x += 1;
    save_queued(file(), layer);
  }
  wait_all();
  layer.x.fill_(0);
  load(file(), layer);
  EXPECT_EQ(layer.x.slice(999, 1000).item(), 20);
}

// The queued file is written only after the later one, whose path is spelled differently, is there.
TEST_F(Save, AQueuedFileDoesNotReplaceALaterOne) {
  struct Layer {
    Tensor x;
    void members(Members& m) { m("x", x); }
  };
  std::promise<void> may_go;
  const std::shared_future<void> goes = may_go.get_future().share();
  Layer early{source("slow", {.shape = {3}}, [goes](const CustomCall& call) {
    goes.wait();
    for (float& x : call.output<float>()) x = 1;
  })};
  const Tensor bytes = save_queued(file(), early);
  Layer late{full({3}, 2)};
  const std::filesystem::path path(file());
  save((path.parent_path() / "." / path.filename()).string(), late);
  may_go.set_value();
  bytes.wait();
  load(file(), late);
  EXPECT_EQ(late.x.to_vector<float>(), std::vector<float>(3, 2));
}

TEST_F(Save, QueuedGoesToTheFolderOfTheCall) {
  const std::filesystem::path path(file()), before = std::filesystem::current_path();
  std::filesystem::current_path(path.parent_path());
  Dense net(2, 3);
  const Tensor bytes = save_queued(path.filename().string(), net);
  std::filesystem::current_path(before);
  bytes.wait();
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(Save, QueuedToAnEmptyPathFailsAtTheWait) {
  const Tensor bytes = save_queued("", Dense(2, 3));
  EXPECT_THAT(message_of([&] { bytes.wait(); }), HasSubstr("No such file or directory"));
  recover();
}

TEST_F(Save, QueuedLeavesTheOldFileIfAnythingFails) {
  expect_failures_to_leave_the_old_file("nn::save_queued", [&](auto& layer) { save_queued(file(), layer).wait(); });
}

// Wide values (float64, int64) are aligned even after narrow ones.
TEST_F(Save, ValuesAreAligned) {
  put({{"a", ones({1})}, {"b", ones({1}, {.dtype = float64})}, {"c", ones({1})}, {"d", ones({1}, {.dtype = int64})}});
  const safetensors::Reader reader("test", file());
  for (const auto& entry : reader.header().tensors)
    EXPECT_EQ(entry.begin_byte % (entry.end_byte - entry.begin_byte), 0u);
}

class SaveOnDevices : public Save {
 protected:
  void SetUp() override { set_engine_options({.workers = 2, .cpu_parts = 2}); }
  void TearDown() override { set_engine_options({}); }
};

TEST_F(SaveOnDevices, ALayerKeepsItsDevice) {
  Dense net(2, 3), there(2, 3, nullptr, {.device = "cpu:1"});
  save(file(), net);
  load(file(), there);
  EXPECT_EQ(there.weight.device(), Device("cpu:1"));
  EXPECT_EQ(there.weight.to_vector<float>(), net.weight.to_vector<float>());
}

TEST_F(SaveOnDevices, ANetworkOnSeveralIsSaved) {
  Sequential net(Dense(2, 3), Dense(3, 1, nullptr, {.device = "cpu:1"}));
  const auto saved = contents(state(net));
  save_queued(file(), net).wait();
  for (const Tensor& tensor : parameters(net)) tensor.detach().fill_(0);
  load(file(), net);
  EXPECT_EQ(contents(state(net)), saved);
}

}  // namespace
}  // namespace asyncgrad::nn
