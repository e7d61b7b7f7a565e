// SPDX-License-Identifier: MIT
#include "puretour/models/legacy_torch.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/base/text.h"

namespace puretour {
namespace {

// Values live in one list and refer to each other by position: a file cannot make the reader recurse.
using Ref = std::uint32_t;

struct Value {
  enum class Kind : std::uint8_t { kMark, kNone, kBool, kInt, kText, kTuple, kList, kDict, kGlobal, kStorage, kTensor };
  Kind kind = Kind::kNone;
  std::int64_t number = 0;  // kBool, kInt; kStorage: count of values; kTensor: offset in its storage
  std::string text;         // kText; kGlobal: "module name"; kStorage: its key
  std::vector<Ref> items;   // kTuple, kList; kDict: keys and values in turn; kTensor: storage, shape, stride
  static Value of_kind(Kind k) {
    Value value;
    value.kind = k;
    return value;
  }
};
using Kind = Value::Kind;

// The magic number of the format and the version that all its files have.
constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr std::int64_t kProtocol = 1001;

// Everything that a file may mention. None of these names is looked up or called: what they do is written below.
constexpr std::string_view kOrderedDict = "collections OrderedDict";
constexpr std::string_view kRebuildTensor = "torch._utils _rebuild_tensor";
constexpr std::string_view kRebuildTensor2 = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kFloatStorage = "torch FloatStorage";
constexpr std::string_view kLongStorage = "torch LongStorage";

// More values than any model has tensors and names; a file that makes more is no model.
constexpr std::size_t kMaxValues = 1 << 20;

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  TensorMap read(const std::string& entry) {
    if (bytes_.starts_with("PK")) {
      fail("this is the zip format of newer PyTorch versions; save the weights as safetensors and import that file");
    }
    // PROTO 2, LONG1 of ten bytes: how every file of this kind begins.
    if (!bytes_.starts_with("\x80\x02\x8a\x0a") || bytes_.substr(4, kMagic.size()) != kMagic) {
      fail("this is no file of a PyTorch version before 1.6; the magic number is missing");
    }
    position_ = 4 + kMagic.size();
    if (take() != '.') fail("the magic number does not end");
    const Value protocol = value(run_pickle());
    if (protocol.kind != Kind::kInt || protocol.number != kProtocol) {
      fail(fmt::format("protocol {} instead of {}", protocol.number, kProtocol));
    }
    run_pickle();  // about the machine that wrote it
    const Ref object = run_pickle();
    const Ref keys = run_pickle();
    read_storages(keys);
    return tensors_of(object, entry);
  }

 private:
  struct Storage {
    bool is_float = true;
    std::size_t begin = 0;  // in bytes_
    std::size_t count = 0;
    bool found = false;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw ModelError(fmt::format("{}: {} (at byte {})", source_, what, position_));
  }

  [[nodiscard]] const Value& value(Ref ref) const { return values_[ref]; }
  const Value& expect(Ref ref, Kind kind, const char* what) const {
    if (values_[ref].kind != kind) fail(fmt::format("{} is expected here", what));
    return values_[ref];
  }

  std::string_view take_bytes(std::uint64_t count) {
    if (count > bytes_.size() - position_) fail("the file ends too early; it is truncated");
    const std::string_view result = bytes_.substr(position_, count);
    position_ += count;
    return result;
  }
  char take() { return take_bytes(1)[0]; }
  template <typename Number>
  Number take_number() {
    Number number{};
    std::memcpy(&number, take_bytes(sizeof number).data(), sizeof number);
    return number;
  }
  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) fail("the file ends inside a name");
    const std::string_view line = bytes_.substr(position_, end - position_);
    position_ = end + 1;
    return line;
  }

  Ref add(Value v) {
    if (values_.size() >= kMaxValues) fail("too many values for a model");
    values_.push_back(std::move(v));
    return static_cast<Ref>(values_.size() - 1);
  }
  void push(Value v) { stack_.push_back(add(std::move(v))); }
  Ref pop() {
    if (stack_.empty()) fail("an instruction lacks its operand");
    const Ref ref = stack_.back();
    stack_.pop_back();
    return ref;
  }
  [[nodiscard]] Ref top() const {
    if (stack_.empty()) fail("an instruction lacks its operand");
    return stack_.back();
  }
  std::vector<Ref> pop_to_mark() {
    std::size_t begin = stack_.size();
    while (begin > 0 && value(stack_[begin - 1]).kind != Kind::kMark) --begin;
    if (begin == 0) fail("an instruction lacks its mark");
    std::vector<Ref> items(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end());
    stack_.resize(begin - 1);
    return items;
  }

  void push_int(std::int64_t number) {
    Value v = Value::of_kind(Kind::kInt);
    v.number = number;
    push(std::move(v));
  }
  void push_bool(bool flag) {
    Value v = Value::of_kind(Kind::kBool);
    v.number = flag ? 1 : 0;
    push(std::move(v));
  }
  void push_text(std::string_view text) {
    Value v = Value::of_kind(Kind::kText);
    v.text = text;
    push(std::move(v));
  }
  void push_tuple(std::vector<Ref> items) {
    Value v = Value::of_kind(Kind::kTuple);
    v.items = std::move(items);
    push(std::move(v));
  }
  void push_tuple_of(std::size_t count) {
    if (stack_.size() < count) fail("an instruction lacks its operand");
    std::vector<Ref> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    push_tuple(std::move(items));
  }
  void append_to(Kind kind, const char* what, const std::vector<Ref>& items) {
    const Ref container = top();
    expect(container, kind, what);
    if (kind == Kind::kDict && items.size() % 2 != 0) fail("a key without a value");
    auto& target = values_[container].items;
    if (target.size() + items.size() > kMaxValues) fail("too many values for a model");
    target.insert(target.end(), items.begin(), items.end());
  }

  // Runs one pickle up to its STOP and returns what it leaves.
  Ref run_pickle() {
    stack_.clear();
    memo_.clear();
    while (true) {
      const char instruction = take();
      if (instruction == '.') {
        const Ref result = pop();
        if (!stack_.empty()) fail("a pickle leaves more than one value");
        return result;
      }
      step(instruction);
    }
  }

  // The names of the cases are those of Python's pickletools.
  void step(char instruction) {
    switch (instruction) {
      case '\x80':  // PROTO
        if (take() != 2) fail("a pickle of a protocol other than 2");
        break;
      case '(':  // MARK
        push(Value::of_kind(Kind::kMark));
        break;
      case 'N':  // NONE
        push(Value());
        break;
      case '\x88':  // NEWTRUE
        push_bool(true);
        break;
      case '\x89':  // NEWFALSE
        push_bool(false);
        break;
      case 'J':  // BININT
        push_int(take_number<std::int32_t>());
        break;
      case 'K':  // BININT1
        push_int(take_number<std::uint8_t>());
        break;
      case 'M':  // BININT2
        push_int(take_number<std::uint16_t>());
        break;
      case 'X': {  // BINUNICODE
        const auto length = take_number<std::uint32_t>();
        push_text(take_bytes(length));
        break;
      }
      case '}':  // EMPTY_DICT
        push(Value::of_kind(Kind::kDict));
        break;
      case ']':  // EMPTY_LIST
        push(Value::of_kind(Kind::kList));
        break;
      case ')':  // EMPTY_TUPLE
        push_tuple({});
        break;
      case 't':  // TUPLE
        push_tuple(pop_to_mark());
        break;
      case '\x85':  // TUPLE1
      case '\x86':  // TUPLE2
      case '\x87':  // TUPLE3
        push_tuple_of(static_cast<unsigned char>(instruction) - 0x84U);
        break;
      case 'a':  // APPEND
        append_to_below(Kind::kList, "a list", 1);
        break;
      case 'e': {  // APPENDS
        const std::vector<Ref> items = pop_to_mark();
        append_to(Kind::kList, "a list", items);
        break;
      }
      case 's':  // SETITEM
        append_to_below(Kind::kDict, "a dictionary", 2);
        break;
      case 'u': {  // SETITEMS
        const std::vector<Ref> items = pop_to_mark();
        append_to(Kind::kDict, "a dictionary", items);
        break;
      }
      case 'q':  // BINPUT
        memo_[take_number<std::uint8_t>()] = top();
        break;
      case 'r':  // LONG_BINPUT
        memo_[take_number<std::uint32_t>()] = top();
        break;
      case 'h':  // BINGET
        recall(take_number<std::uint8_t>());
        break;
      case 'j':  // LONG_BINGET
        recall(take_number<std::uint32_t>());
        break;
      case 'c':  // GLOBAL
        push_global();
        break;
      case 'Q':  // BINPERSID
        push_storage();
        break;
      case 'R':  // REDUCE
        reduce();
        break;
      default:
        fail(fmt::format("instruction 0x{:02x} is not one that tensors need; this reader executes nothing else",
                         static_cast<unsigned char>(instruction)));
    }
  }

  void append_to_below(Kind kind, const char* what, std::size_t count) {
    if (stack_.size() <= count) fail("an instruction lacks its operand");
    const std::vector<Ref> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    append_to(kind, what, items);
  }

  void recall(std::uint32_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) fail(fmt::format("nothing is remembered under number {}", number));
    stack_.push_back(found->second);
  }

  void push_global() {
    const std::string module(take_line());
    Value v = Value::of_kind(Kind::kGlobal);
    v.text = module + ' ' + std::string(take_line());
    for (const std::string_view known : {kOrderedDict, kRebuildTensor, kRebuildTensor2, kFloatStorage, kLongStorage}) {
      if (v.text == known) {
        push(std::move(v));
        return;
      }
    }
    fail(fmt::format("the file refers to {}, which tensors do not need; only files of plain tensors can be imported",
                     quote_input(v.text)));
  }

  // A persistent id names the memory of a tensor: ('storage', type, key, device, count, None).
  void push_storage() {
    const std::vector<Ref> id = expect(pop(), Kind::kTuple, "the description of a storage").items;
    if (id.size() < 5 || value(id[0]).kind != Kind::kText || value(id[0]).text != "storage") fail("no storage");
    const std::string& type = expect(id[1], Kind::kGlobal, "the type of a storage").text;
    if (type != kFloatStorage && type != kLongStorage) fail(fmt::format("{} is no storage", quote_input(type)));
    Value v = Value::of_kind(Kind::kStorage);
    v.text = expect(id[2], Kind::kText, "the key of a storage").text;
    v.number = expect(id[4], Kind::kInt, "the size of a storage").number;
    if (v.number < 0) fail("a storage of negative size");
    Storage& storage = storages_[v.text];
    storage.is_float = type == kFloatStorage;
    storage.count = static_cast<std::size_t>(v.number);
    push(std::move(v));
  }

  void reduce() {
    const std::vector<Ref> arguments = expect(pop(), Kind::kTuple, "a tuple of arguments").items;
    const std::string function = expect(pop(), Kind::kGlobal, "a name").text;
    if (function == kOrderedDict) {
      if (!arguments.empty()) fail("an ordered dictionary with arguments");
      push(Value::of_kind(Kind::kDict));
    } else if (function == kRebuildTensor || function == kRebuildTensor2) {
      // (storage, offset, shape, stride) and in the second form things that do not concern the values.
      if (arguments.size() < 4) fail("a tensor lacks arguments");
      expect(arguments[0], Kind::kStorage, "the storage of a tensor");
      expect(arguments[2], Kind::kTuple, "the shape of a tensor");
      expect(arguments[3], Kind::kTuple, "the stride of a tensor");
      Value v = Value::of_kind(Kind::kTensor);
      v.number = expect(arguments[1], Kind::kInt, "the offset of a tensor").number;
      v.items = {arguments[0], arguments[2], arguments[3]};
      push(std::move(v));
    } else {
      fail(fmt::format("{} cannot be called", quote_input(function)));
    }
  }

  // Behind the pickles: for every key of the list a count and the values.
  void read_storages(Ref keys) {
    for (const Ref key : expect(keys, Kind::kList, "the list of storages").items) {
      const std::string& name = expect(key, Kind::kText, "the key of a storage").text;
      const auto found = storages_.find(name);
      if (found == storages_.end() || found->second.found)
        fail(fmt::format("storage {} has no use", quote_input(name)));
      Storage& storage = found->second;
      const auto count = take_number<std::uint64_t>();
      if (count != storage.count) {
        fail(fmt::format("storage {} has {} values instead of {}", quote_input(name), count, storage.count));
      }
      const std::size_t value_size = storage.is_float ? 4 : 8;
      if (count > (bytes_.size() - position_) / value_size) fail("the file ends too early; it is truncated");
      storage.begin = position_;
      storage.found = true;
      position_ += count * value_size;
    }
    if (position_ != bytes_.size()) fail("bytes follow behind the last tensor");
    for (const auto& [name, storage] : storages_) {
      if (!storage.found) fail(fmt::format("the values of storage {} are missing", quote_input(name)));
    }
  }

  [[nodiscard]] TensorMap tensors_of(Ref object, const std::string& entry) const {
    const Value& file = expect(object, Kind::kDict, "a dictionary");
    std::optional<Ref> found;
    for (std::size_t i = 0; i < file.items.size(); i += 2) {
      const Value& key = value(file.items[i]);
      if (key.kind == Kind::kText && key.text == entry) found = file.items[i + 1];
    }
    if (!found) fail(fmt::format("there is no entry {}", quote_input(entry)));
    const Value& model = expect(*found, Kind::kDict, "a dictionary of tensors");
    TensorMap tensors;
    for (std::size_t i = 0; i < model.items.size(); i += 2) {
      const std::string& name = expect(model.items[i], Kind::kText, "the name of a tensor").text;
      const Value& tensor = expect(model.items[i + 1], Kind::kTensor, "a tensor");
      // Counters of newer versions (num_batches_tracked) are integers and do not influence results.
      if (!storages_.at(value(tensor.items[0]).text).is_float) continue;
      if (!tensors.emplace(name, values_of(tensor, name)).second) fail(fmt::format("{} twice", quote_input(name)));
    }
    return tensors;
  }

  [[nodiscard]] Tensor values_of(const Value& tensor, const std::string& name) const {
    const Storage& storage = storages_.at(value(tensor.items[0]).text);
    const std::vector<Ref>& shape = value(tensor.items[1]).items;
    const std::vector<Ref>& stride = value(tensor.items[2]).items;
    const auto refuse = [&] { fail(fmt::format("tensor {} does not fit its storage", quote_input(name))); };
    if (shape.size() != stride.size() || tensor.number < 0) refuse();
    // Contiguous tensors are all that is needed: the stride must be the one that follows from the shape.
    Tensor result;
    std::size_t count = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const std::int64_t size = expect(shape[i], Kind::kInt, "a size").number;
      const std::int64_t step = expect(stride[i], Kind::kInt, "a stride").number;
      if (size < 1 || count > storage.count / static_cast<std::size_t>(size)) refuse();
      if (size > 1 && static_cast<std::size_t>(step) != count) {
        fail(fmt::format("tensor {} is not contiguous", quote_input(name)));
      }
      result.shape.insert(result.shape.begin(), static_cast<std::size_t>(size));
      count *= static_cast<std::size_t>(size);
    }
    const auto offset = static_cast<std::size_t>(tensor.number);
    if (offset > storage.count || count > storage.count - offset) refuse();
    result.values.resize(count);
    // The numbers in the file are not aligned.
    std::memcpy(result.values.data(), bytes_.data() + storage.begin + offset * sizeof(float), count * sizeof(float));
    return result;
  }

  std::string_view bytes_;
  const std::string& source_;
  std::size_t position_ = 0;
  std::vector<Value> values_;
  std::vector<Ref> stack_;
  std::map<std::uint32_t, Ref> memo_;
  std::map<std::string, Storage> storages_;
};

}  // namespace

TensorMap parse_legacy_torch(std::string_view bytes, const std::string& entry, const std::string& source) {
  return Reader(bytes, source).read(entry);
}

}  // namespace puretour
