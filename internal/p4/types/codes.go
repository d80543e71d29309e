package types

import "github.com/catena-nfv/catena/internal/p4/diag"

// Names and types.
const (
	CodeUndeclared  diag.Code = "types/undeclared"      // a name that nothing declares
	CodeDuplicate   diag.Code = "types/duplicate"       // a name declared twice in one scope
	CodeNotType     diag.Code = "types/not-a-type"      // a type is wanted
	CodeNotValue    diag.Code = "types/not-a-value"     // a value is wanted
	CodeTypeArgs    diag.Code = "types/type-arguments"  // wrong number of, or no way to infer, type arguments
	CodeIllFormed   diag.Code = "types/ill-formed-type" // a type that cannot be built or not be used here
	CodeMismatch    diag.Code = "types/mismatch"        // a value of another type is wanted
	CodeOperand     diag.Code = "types/operand"         // an operator does not take such operands
	CodeMember      diag.Code = "types/no-member"       // no such field, method or member
	CodeConst       diag.Code = "types/not-constant"    // a compile-time value is wanted
	CodeRange       diag.Code = "types/range"           // a constant outside of what is allowed
	CodeLvalue      diag.Code = "types/not-an-lvalue"   // cannot be assigned to
	CodeArguments   diag.Code = "types/arguments"       // arguments do not fit the parameters
	CodeAmbiguous   diag.Code = "types/ambiguous"       // more than one overload fits
	CodeRecursion   diag.Code = "types/recursion"       // P4 has none
	CodeMisplaced   diag.Code = "types/misplaced"       // not allowed in this place
	CodeParameter   diag.Code = "types/parameter"       // a parameter that cannot be
	CodeReturn      diag.Code = "types/return"          // return is missing or wrong
	CodeState       diag.Code = "types/state"           // parser states
	CodeTable       diag.Code = "types/table"           // properties, keys, actions of a table
	CodeEntry       diag.Code = "types/entry"           // table entries
	CodeSwitch      diag.Code = "types/switch"          // labels of a switch
	CodeAnnotation  diag.Code = "types/annotation"      // a known annotation with a wrong body
	CodeAbstract    diag.Code = "types/abstract-method" // abstract methods and their implementations
	CodeAssertion   diag.Code = "types/static-assert"   // static_assert(false)
	CodeOverflow    diag.Code = "types/overflow"        // warning: a literal loses bits
	CodeMain        diag.Code = "types/main"            // main is missing or no package
	CodeConstructor diag.Code = "types/constructor"     // objects where they cannot be made
)

// Lowering.
const (
	CodeUnsupported diag.Code = "v1model/unsupported" // P4, but not v1model or not on our targets
	CodePackage     diag.Code = "v1model/package"     // not a V1Switch
	CodeNames       diag.Code = "v1model/names"       // two objects with one control-plane name
	CodeExtern      diag.Code = "v1model/extern"      // an extern used in a way that it does not allow
)
