"""What stands between guest code and what it may do: a policy, the guard of the data flow, a person, an audit."""

from cellwright.guard.allowed_hosts import allow_hosts
from cellwright.guard.approval_desk import ApprovalDesk, decide, full_arguments, open_questions
from cellwright.guard.approvals import Approved, StoredApproval
from cellwright.guard.approver import LATER, Approvals, Approve, ApproverReply
from cellwright.guard.audit import AuditTrail
from cellwright.guard.audit_file import AuditFinding, AuditHead, audit_files, audit_heads, audit_records, verify_audit
from cellwright.guard.audited import Audited, unkept_session
from cellwright.guard.flow import FlowGuard
from cellwright.guard.flow_policy import FlowMode, FlowPolicy, OperationLabels, ProvenValues
from cellwright.guard.guarded import Guarded, GuardRules, subject_of
from cellwright.guard.hold import called_and_flow
from cellwright.guard.hooks import Hook, HookedCall, Replaced, Unseen
from cellwright.guard.labels import PRIVATE, UNTRUSTED
from cellwright.guard.network import Network, is_inside
from cellwright.guard.network_list import NetworkEntry, NetworkList, http_target
from cellwright.guard.operation_globs import covers_name
from cellwright.guard.policy import (
    Action,
    OperationTimeout,
    Policy,
    PolicyDecision,
    PolicyRule,
    PolicySubject,
    is_destructive,
)
from cellwright.guard.policy_files import policy_from, policy_of, read_policy, read_table
from cellwright.guard.privacy import Privacy, SessionPrivacy
from cellwright.guard.private import SERVED_PRIVACY, Private, revealing, telling
from cellwright.guard.private_columns import is_private_value
from cellwright.guard.private_kinds import KINDS, Detector, NameFinder, Pattern, PrivateSpan
from cellwright.guard.private_names import NAMES_MODEL, SpacyNames, names_model
from cellwright.guard.private_notes import PrivateNotes, has_private_notes, with_values
from cellwright.guard.private_sandbox import PrivateSandbox
from cellwright.guard.private_text import PrivateText
from cellwright.guard.rate_limits import RateLimit, RateLimits
from cellwright.guard.served_flow import BY_CODE, SERVED_FLOW, ServedFlow
from cellwright.guard.session_network import Networked, NetworkSandbox, SessionNetwork
from cellwright.guard.workspace_labels import WorkspaceLabels

__all__ = [
    "BY_CODE",
    "KINDS",
    "LATER",
    "NAMES_MODEL",
    "PRIVATE",
    "SERVED_FLOW",
    "SERVED_PRIVACY",
    "UNTRUSTED",
    "Action",
    "ApprovalDesk",
    "Approvals",
    "Approve",
    "Approved",
    "ApproverReply",
    "AuditFinding",
    "AuditHead",
    "AuditTrail",
    "Audited",
    "Detector",
    "FlowGuard",
    "FlowMode",
    "FlowPolicy",
    "GuardRules",
    "Guarded",
    "Hook",
    "HookedCall",
    "NameFinder",
    "Network",
    "NetworkEntry",
    "NetworkList",
    "NetworkSandbox",
    "Networked",
    "OperationLabels",
    "OperationTimeout",
    "Pattern",
    "Policy",
    "PolicyDecision",
    "PolicyRule",
    "PolicySubject",
    "Privacy",
    "Private",
    "PrivateNotes",
    "PrivateSandbox",
    "PrivateSpan",
    "PrivateText",
    "ProvenValues",
    "RateLimit",
    "RateLimits",
    "Replaced",
    "ServedFlow",
    "SessionNetwork",
    "SessionPrivacy",
    "SpacyNames",
    "StoredApproval",
    "Unseen",
    "WorkspaceLabels",
    "allow_hosts",
    "audit_files",
    "audit_heads",
    "audit_records",
    "called_and_flow",
    "covers_name",
    "decide",
    "full_arguments",
    "has_private_notes",
    "http_target",
    "is_destructive",
    "is_inside",
    "is_private_value",
    "names_model",
    "open_questions",
    "policy_from",
    "policy_of",
    "read_policy",
    "read_table",
    "revealing",
    "subject_of",
    "telling",
    "unkept_session",
    "verify_audit",
    "with_values",
]
