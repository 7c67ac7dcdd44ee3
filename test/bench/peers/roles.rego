# The model of the bench as OPA sees it: `known` looks into data that was loaded before, `told` judges by what comes along.
package bench

scopes := ["platform", input.tenant, input.project]

default known := false

known if {
	some scope in scopes
	some role in data.bindings[input.user][scope]
	data.permissions[role][input.action]
}

default told := false

told if {
	some scope in scopes
	some role in input.bindings[scope]
	data.permissions[role][input.action]
}
