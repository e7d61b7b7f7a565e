// The error types of PureTour; each carries the exit code that the command line returns for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace puretour {

/// Base of everything that PureTour throws on purpose.
class Error : public std::runtime_error {
 public:
  Error(int exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

/// A bug in PureTour itself.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message) : Error(1, message) {}
};

/// Bad input: a file, an option or an argument. The message says what, where, the value seen and what to do.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message) : Error(2, message) {}
};

/// A model file that does not fit: names, shapes, types or values.
class ModelError : public Error {
 public:
  explicit ModelError(const std::string& message) : Error(3, message) {}
};

/// Processes that work together have lost each other.
class ConnectionError : public Error {
 public:
  explicit ConnectionError(const std::string& message) : Error(4, message) {}
};

/// A computation that cannot go on: numbers that are not finite.
class NumericError : public Error {
 public:
  explicit NumericError(const std::string& message) : Error(5, message) {}
};

}  // namespace puretour
