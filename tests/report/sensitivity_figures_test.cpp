// SPDX-License-Identifier: MIT
#include "puretour/report/sensitivity_figures.h"

#include <gtest/gtest.h>

#include "puretour/base/error.h"
#include "support/xml.h"

namespace puretour {
namespace {

SensitivityRow row(const std::string& name, std::optional<double> target, double excess, double alpha,
                   std::size_t scale) {
  SensitivityRow result;
  result.group = {name, target};
  result.mean_excess = excess;
  result.law.type = {scale, Distribution::kUniform, 1};
  result.law.fit = ExponentialFit{alpha, 2, 0, 1};
  result.law.pooled.add(0, 9);
  result.law.pooled.add(1, 1);
  return result;
}

TEST(SensitivityFigures, SeparateStoppedSearchesFromConstructions) {
  std::vector<SensitivityRow> rows;
  for (const std::size_t scale : {100U, 200U}) {
    rows.push_back(row("optimal", {}, 0, 0.93, scale));
    rows.push_back(row("stopped near 5 %", 0.05, 0.049, 0.88, scale));
    rows.push_back(row("greedy edge", {}, 0.16, 0.8, scale));
    rows.push_back(row("random", {}, 9, 0.01, scale));
  }
  const std::string stopped = sensitivity_svg(rows);
  EXPECT_NO_THROW(test::XmlReader(stopped).read());
  EXPECT_NE(stopped.find("uniform: 4.9, 0.88"), std::string::npos) << stopped;
  EXPECT_NE(stopped.find("alpha, 100 nodes"), std::string::npos);
  EXPECT_NE(stopped.find("Prop-0, 200 nodes"), std::string::npos);
  EXPECT_EQ(stopped.find("16, 0.8"), std::string::npos);
  const std::string named = constructions_svg(rows);
  EXPECT_NO_THROW(test::XmlReader(named).read());
  EXPECT_NE(named.find("greedy edge: 16, 0.8"), std::string::npos);
  EXPECT_EQ(named.find("stopped"), std::string::npos);
  EXPECT_EQ(named.find("random"), std::string::npos);
  EXPECT_THROW(sensitivity_svg({}), InputError);
}

TEST(SensitivityFigures, LeaveOutWhatCannotBeFitted) {
  std::vector<SensitivityRow> rows = {row("optimal", {}, 0, 0.93, 50), row("stopped near 1 %", 0.01, 0.01, 0.9, 50)};
  rows[1].law.fit.reset();
  EXPECT_EQ(sensitivity_svg(rows).find("uniform: 1, 2"), std::string::npos);
}

}  // namespace
}  // namespace puretour
