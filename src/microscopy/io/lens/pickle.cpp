// A pickle is a program for a machine with a stack and a memory. This one knows the instructions that build plain
// objects, and four functions of NumPy.
// SPDX-License-Identifier: MIT
#include "io/lens/pickle.hpp"

#include <fmt/format.h>

#include <bit>
#include <deque>
#include <stdexcept>
#include <string_view>

#include "io/bytes_reader.hpp"
#include "io/header_bytes.hpp"

namespace glint {
namespace {

constexpr std::size_t max_pickle_objects = 1'000'000;  // of about 100 bytes each

enum class ObjectKind { none, boolean, number, text, bytes, list, tuple, dictionary, function, type, array };

/// The functions that a pickle may call.
enum class NumpyFunction { none, reconstruct, from_buffer, scalar, type, array_class };

struct PickleObject {
    ObjectKind kind = ObjectKind::none;
    double number = 0;
    std::string_view text;           ///< of texts and bytes
    std::vector<std::size_t> items;  ///< places of objects; of a dictionary keys and values in turn
    NumpyFunction function = NumpyFunction::none;
    PickleArray array;  ///< its kind, bytes of a value and order are also those of a type
};

struct KnownFunction {
    std::string_view module, name;
    NumpyFunction function;
};
constexpr KnownFunction known_functions[] = {
    {"numpy.core.multiarray", "_reconstruct", NumpyFunction::reconstruct},
    {"numpy._core.multiarray", "_reconstruct", NumpyFunction::reconstruct},
    {"numpy.core.multiarray", "scalar", NumpyFunction::scalar},
    {"numpy._core.multiarray", "scalar", NumpyFunction::scalar},
    {"numpy.core.numeric", "_frombuffer", NumpyFunction::from_buffer},
    {"numpy._core.numeric", "_frombuffer", NumpyFunction::from_buffer},
    {"numpy", "dtype", NumpyFunction::type},
    {"numpy", "ndarray", NumpyFunction::array_class},
};

[[noreturn]] void refuse_pickle(const std::string& why) { throw std::runtime_error(why); }

/// Executes the instructions.
class PickleMachine {
  public:
    explicit PickleMachine(std::span<const std::byte> pickle) : reader_(pickle) {}

    /// Returns the object that the pickle is.
    const PickleObject& run() {
        constexpr std::uint8_t stop = '.';
        for (std::uint8_t code = reader_.number<std::uint8_t>(); code != stop; code = reader_.number<std::uint8_t>())
            if (!build_constant(code) && !build_text(code) && !use_memory(code) && !collect(code) && !call(code))
                refuse_pickle(
                    fmt::format("its instruction {:#04x} at byte {} is none of those that build dictionaries, "
                                "lists, texts, numbers and NumPy arrays, and nothing else is executed",
                                code, reader_.at() - 1));
        return objects_[pop()];
    }
    const PickleObject& object(std::size_t at) const { return objects_[at]; }

  private:
    void push(PickleObject object) {
        if (objects_.size() == max_pickle_objects)
            refuse_pickle(fmt::format("it has more than {} objects", max_pickle_objects));
        objects_.push_back(std::move(object));
        stack_.push_back(objects_.size() - 1);
    }
    void push_number(double value, ObjectKind kind = ObjectKind::number) {
        PickleObject object;
        object.kind = kind, object.number = value;
        push(std::move(object));
    }
    void push_text(std::uint64_t bytes, ObjectKind kind) {
        const auto raw = reader_.take(bytes);
        PickleObject object;
        object.kind = kind, object.text = {reinterpret_cast<const char*>(raw.data()), raw.size()};
        push(std::move(object));
    }
    std::size_t top() const {
        if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back()))
            refuse_pickle("its stack runs empty");
        return stack_.back();
    }
    std::size_t pop() {
        const std::size_t at = top();
        stack_.pop_back();
        return at;
    }
    std::vector<std::size_t> pop_many(std::size_t count) {
        std::vector<std::size_t> items(count);
        while (count-- > 0) items[count] = pop();
        return items;
    }
    std::vector<std::size_t> pop_to_mark() {
        if (marks_.empty()) refuse_pickle("a mark of its stack is missing");
        std::vector<std::size_t> items(stack_.begin() + std::ptrdiff_t(marks_.back()), stack_.end());
        stack_.resize(marks_.back());
        marks_.pop_back();
        return items;
    }
    void push_items(ObjectKind kind, std::vector<std::size_t> items) {
        PickleObject object;
        object.kind = kind, object.items = std::move(items);
        push(std::move(object));
    }
    /// Adds to the list or dictionary on top of the stack.
    void add_items(ObjectKind kind, const std::vector<std::size_t>& items) {
        PickleObject& to = objects_[top()];
        if (to.kind != kind || (kind == ObjectKind::dictionary && items.size() % 2 > 0))
            refuse_pickle(fmt::format("it adds to what is no list or dictionary, at byte {}", reader_.at()));
        item_count_ += items.size();
        if (item_count_ > max_pickle_objects)
            refuse_pickle(fmt::format("its lists have more than {} items", max_pickle_objects));
        to.items.insert(to.items.end(), items.begin(), items.end());
    }

    bool build_constant(std::uint8_t code) {
        switch (code) {
            case 0x80: {  // PROTO
                const auto protocol = reader_.number<std::uint8_t>();
                if (protocol > 5) refuse_pickle(fmt::format("its protocol is {}: 2 to 5 are read", protocol));
                return true;
            }
            case 0x95: reader_.take(8); return true;  // FRAME: the frame's contents follow
            case 'N': push({}); return true;
            case 0x88: push_number(1, ObjectKind::boolean); return true;
            case 0x89: push_number(0, ObjectKind::boolean); return true;
            case 'J': push_number(reader_.number<std::int32_t>()); return true;
            case 'K': push_number(reader_.number<std::uint8_t>()); return true;
            case 'M': push_number(reader_.number<std::uint16_t>()); return true;
            case 0x8a: push_number(read_long()); return true;  // LONG1
            case 'G': push_number(read_float()); return true;
            default: return false;
        }
    }
    double read_long() {
        const auto bytes = reader_.number<std::uint8_t>();
        if (bytes > 8) refuse_pickle(fmt::format("it has a whole number of {} bytes: at most 8 are read", bytes));
        std::uint64_t value = 0;
        for (int k = 0; k < bytes; ++k) value |= std::uint64_t(reader_.number<std::uint8_t>()) << (8 * k);
        if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1) & 1)) value |= ~std::uint64_t(0) << (8 * bytes);
        return double(std::int64_t(value));
    }
    double read_float() {
        const auto raw = reader_.take(8);  // big-endian
        return number_at<double>({reinterpret_cast<const char*>(raw.data()), raw.size()}, 0, true);
    }

    bool build_text(std::uint8_t code) {
        switch (code) {
            case 0x8c: push_text(reader_.number<std::uint8_t>(), ObjectKind::text); return true;
            case 'X': push_text(reader_.number<std::uint32_t>(), ObjectKind::text); return true;
            case 0x8d: push_text(reader_.number<std::uint64_t>(), ObjectKind::text); return true;
            // Python 2's strings are both.
            case 'U': push_text(reader_.number<std::uint8_t>(), ObjectKind::bytes); return true;
            case 'T': push_text(reader_.number<std::uint32_t>(), ObjectKind::bytes); return true;
            case 'C': push_text(reader_.number<std::uint8_t>(), ObjectKind::bytes); return true;
            case 'B': push_text(reader_.number<std::uint32_t>(), ObjectKind::bytes); return true;
            case 0x8e:
            case 0x96: push_text(reader_.number<std::uint64_t>(), ObjectKind::bytes); return true;
            default: return false;
        }
    }

    bool use_memory(std::uint8_t code) {
        switch (code) {
            case 'q': memory_[reader_.number<std::uint8_t>()] = top(); return true;
            case 'r': memory_[reader_.number<std::uint32_t>()] = top(); return true;
            case 0x94: {  // MEMOIZE
                const std::uint64_t at = memory_.size();
                memory_[at] = top();
                return true;
            }
            case 'h': recall(reader_.number<std::uint8_t>()); return true;
            case 'j': recall(reader_.number<std::uint32_t>()); return true;
            default: return false;
        }
    }
    void recall(std::uint64_t at) {
        const auto found = memory_.find(at);
        if (found == memory_.end()) refuse_pickle(fmt::format("it uses object {}, which it does not have", at));
        if (stack_.size() > max_pickle_objects)
            refuse_pickle(fmt::format("it has more than {} objects", max_pickle_objects));
        stack_.push_back(found->second);
    }

    bool collect(std::uint8_t code) {
        switch (code) {
            case '(': marks_.push_back(stack_.size()); return true;
            case '}': push_items(ObjectKind::dictionary, {}); return true;
            case ']': push_items(ObjectKind::list, {}); return true;
            case ')': push_items(ObjectKind::tuple, {}); return true;
            case 't': push_items(ObjectKind::tuple, pop_to_mark()); return true;
            case 'l': push_items(ObjectKind::list, pop_to_mark()); return true;
            case 0x85: push_items(ObjectKind::tuple, pop_many(1)); return true;
            case 0x86: push_items(ObjectKind::tuple, pop_many(2)); return true;
            case 0x87: push_items(ObjectKind::tuple, pop_many(3)); return true;
            case 'a': add_items(ObjectKind::list, pop_many(1)); return true;
            case 'e': add_items(ObjectKind::list, pop_to_mark()); return true;
            case 's': add_items(ObjectKind::dictionary, pop_many(2)); return true;
            case 'u': add_items(ObjectKind::dictionary, pop_to_mark()); return true;
            default: return false;
        }
    }

    bool call(std::uint8_t code) {
        switch (code) {
            case 'c': {
                const std::string module = read_line(), name = read_line();
                push_function(module, name);
                return true;
            }
            case 0x93: {  // STACK_GLOBAL
                const PickleObject &name = objects_[pop()], &module = objects_[pop()];
                push_function(module.text, name.text);
                return true;
            }
            case 'R': call_function(); return true;
            case 'b': set_state(); return true;
            default: return false;
        }
    }
    std::string read_line() {
        constexpr std::size_t max_letters = 200;
        std::string line;
        for (char letter; (letter = char(reader_.number<std::uint8_t>())) != '\n';) {
            line += letter;
            if (line.size() > max_letters) refuse_pickle("a name in it is too long");
        }
        return line;
    }
    void push_function(std::string_view module, std::string_view name) {
        PickleObject object;
        object.kind = ObjectKind::function;
        for (const KnownFunction& known : known_functions)
            if (known.module == module && known.name == name) object.function = known.function;
        if (object.function == NumpyFunction::none)
            refuse_pickle(
                fmt::format("it asks for \"{}.{}\", which would have to be executed: only NumPy arrays are "
                            "read",
                            module.substr(0, 60), name.substr(0, 60)));
        push(std::move(object));
    }

    const PickleObject& argument(const PickleObject& of, std::size_t k, ObjectKind kind) const {
        if (of.kind != ObjectKind::tuple || k >= of.items.size() || objects_[of.items[k]].kind != kind)
            refuse_pickle(fmt::format("a NumPy object in it lacks what it is made of, at byte {}", reader_.at()));
        return objects_[of.items[k]];
    }

    void call_function() {
        const PickleObject& arguments = objects_[pop()];
        const PickleObject& function = objects_[pop()];
        PickleObject result;
        result.kind = ObjectKind::array;
        switch (function.kind == ObjectKind::function ? function.function : NumpyFunction::none) {
            case NumpyFunction::reconstruct: break;  // the array follows with its state
            case NumpyFunction::from_buffer:
                fill_array(result.array, argument(arguments, 2, ObjectKind::tuple),
                           argument(arguments, 1, ObjectKind::type), argument(arguments, 0, ObjectKind::bytes));
                if (argument(arguments, 3, ObjectKind::text).text != "C") refuse_order();
                break;
            case NumpyFunction::scalar: {
                const PickleObject none;
                fill_array(result.array, none, argument(arguments, 0, ObjectKind::type),
                           argument(arguments, 1, ObjectKind::bytes));
                result.kind = ObjectKind::number, result.number = result.array.value(0);
                break;
            }
            case NumpyFunction::type: set_type(result, arguments); break;
            default: refuse_pickle("it calls what is no function of NumPy for arrays");
        }
        push(std::move(result));
    }
    [[noreturn]] static void refuse_order() { refuse_pickle("an array in it is in Fortran order: C order is read"); }

    void set_type(PickleObject& result, const PickleObject& arguments) const {
        const bool is_text = arguments.kind == ObjectKind::tuple && !arguments.items.empty() &&
                             objects_[arguments.items[0]].kind == ObjectKind::text;
        const std::string_view name = argument(arguments, 0, is_text ? ObjectKind::text : ObjectKind::bytes).text;
        if (name != "f8" && name != "f4" && name != "i8" && name != "i4")
            refuse_pickle(
                fmt::format("an array in it has the type \"{}\": f4, f8, i4 and i8 are read", name.substr(0, 20)));
        result.kind = ObjectKind::type;
        result.array.kind = name[0], result.array.value_bytes = std::size_t(name[1] - '0');
    }

    /// The state of a type or of an array, onto the object below it.
    void set_state() {
        const PickleObject& state = objects_[pop()];
        PickleObject& of = objects_[top()];
        if (of.kind == ObjectKind::type) {
            const bool is_text = state.items.size() > 1 && objects_[state.items[1]].kind == ObjectKind::text;
            of.array.is_big_endian = argument(state, 1, is_text ? ObjectKind::text : ObjectKind::bytes).text == ">";
        } else if (of.kind == ObjectKind::array) {
            if (argument(state, 3, ObjectKind::boolean).number != 0) refuse_order();
            fill_array(of.array, argument(state, 1, ObjectKind::tuple), argument(state, 2, ObjectKind::type),
                       argument(state, 4, ObjectKind::bytes));
        } else {
            refuse_pickle("it sets the state of an object that is no NumPy array");
        }
    }

    void fill_array(PickleArray& array, const PickleObject& shape, const PickleObject& type,
                    const PickleObject& bytes) const {
        const PickleArray like = type.array;
        array = {};
        array.kind = like.kind, array.value_bytes = like.value_bytes, array.is_big_endian = like.is_big_endian;
        array.bytes = {reinterpret_cast<const std::byte*>(bytes.text.data()), bytes.text.size()};
        std::uint64_t left = array.bytes.size() / array.value_bytes;
        bool fits = array.bytes.size() % array.value_bytes == 0 && shape.items.size() <= 32;
        for (std::size_t k = 0; fits && k < shape.items.size(); ++k) {
            const double edge = argument(shape, k, ObjectKind::number).number;
            fits = edge >= 1 && edge <= double(left) && left % std::uint64_t(edge) == 0;
            if (fits) left /= std::uint64_t(edge), array.shape.push_back(std::uint64_t(edge));
        }
        if (!fits || left != 1)
            refuse_pickle(
                fmt::format("an array in it does not have the {} bytes that its shape has", bytes.text.size()));
    }

    BytesReader reader_;
    std::deque<PickleObject> objects_;  // places stay valid
    std::vector<std::size_t> stack_, marks_;
    std::map<std::uint64_t, std::size_t> memory_;
    std::size_t item_count_ = 0;
};

PickleValue to_value(const PickleObject& object) {
    switch (object.kind) {
        case ObjectKind::boolean:
        case ObjectKind::number: return object.number;
        case ObjectKind::text:
        case ObjectKind::bytes: return std::string(object.text);
        case ObjectKind::array: return object.array;
        default: return {};
    }
}

}  // namespace

double PickleArray::value(std::size_t at) const {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto as = [&](auto typed) {
        return double(number_at<decltype(typed)>(text, at * value_bytes, is_big_endian));
    };
    if (kind == 'f') return value_bytes == 8 ? as(double()) : as(float());
    return value_bytes == 8 ? as(std::int64_t()) : as(std::int32_t());
}

PickleDictionary read_pickle(std::span<const std::byte> pickle) {
    PickleMachine machine(pickle);
    const PickleObject& root = machine.run();
    if (root.kind != ObjectKind::dictionary) refuse_pickle("it is no dictionary");
    PickleDictionary dictionary;
    for (std::size_t k = 0; k + 1 < root.items.size(); k += 2) {
        const PickleObject& key = machine.object(root.items[k]);
        if (key.kind == ObjectKind::text || key.kind == ObjectKind::bytes)
            dictionary[std::string(key.text)] = to_value(machine.object(root.items[k + 1]));
    }
    return dictionary;
}

}  // namespace glint
