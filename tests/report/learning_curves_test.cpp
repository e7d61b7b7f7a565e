// SPDX-License-Identifier: MIT
#include "puretour/report/learning_curves.h"

#include <gtest/gtest.h>

#include "puretour/base/error.h"

namespace puretour {
namespace {

constexpr const char* kLog =
    R"({"validation_step":0,"instances":0,"gap":2,"prop0":0.3,"apo_all":6,"apo_non0":9}
{"step":50,"loss":1}
{"validation_step":100,"instances":800,"gap":0.1,"prop0":0.8,"apo_all":1,"apo_non0":4}
{"validation_step":200,"instances":1600,"gap":0.05,"prop0":0.9,"apo_all":0.5,"apo_non0":3}
)";

TEST(LearningCurves, TakeMinutesOfProcessorTimePerThread) {
  LearningCurve curve = parse_learning_curve(kLog, "run", "log.jsonl");
  EXPECT_EQ(curve.gap, (std::vector<double>{200, 10, 5}));
  add_minutes(curve,
              R"({"step":50,"wall_seconds":900,"cpu_seconds":120,"threads":2}
{"step":100,"wall_seconds":1800,"cpu_seconds":240,"threads":2}
{"step":150,"wall_seconds":1900,"cpu_seconds":300,"threads":1}
)",
              "timing.jsonl");
  EXPECT_EQ(curve.minutes, (std::vector<double>{0, 2, 5}));
}

TEST(LearningCurves, TakeTheClockOfOlderRuns) {
  LearningCurve curve = parse_learning_curve(kLog, "run", "log.jsonl");
  add_minutes(curve,
              R"({"step":100,"seconds":{"encode":60,"gradient":120}}
{"step":200,"wall_seconds":600,"seconds":{"encode":61,"gradient":122}}
)",
              "timing.jsonl");
  EXPECT_EQ(curve.minutes, (std::vector<double>{0, 3, 10}));
}

TEST(LearningCurves, NameTheLineThatIsWrongAndTheRunWithoutTimes) {
  LearningCurve curve = parse_learning_curve(kLog, "run", "log.jsonl");
  const auto error_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of([&] {
              (void)learning_times_svg({&curve, 1});
            }),
            "run: there is no timing.jsonl that tells how long training took");
  EXPECT_TRUE(error_of([&] {
                add_minutes(curve, "{\"step\":1,\"wall_seconds\":2}\nwords\n", "t.jsonl");
              }).starts_with("t.jsonl:2: this is no line of a timing file"));
  EXPECT_TRUE(error_of([&] {
                (void)parse_learning_curve("{}", "run", "l.jsonl");
              }).starts_with("l.jsonl: there is no validation"));
}

}  // namespace
}  // namespace puretour
