"""Several words that mean one, and what of a query says nothing about what it wants. English; it knows no index."""

from __future__ import annotations

import re

_GAP = r"((?:\s+[\w'-]+){0,4}?)\s+"  # "turn the old workflow off"
# the pattern, and what it says in one or a few words: `\1` is what stood between its parts
_PHRASES = (
    # verbs of several words
    (rf"(?:give|pay|send|return|get|want){_GAP}(?:their |the |my |his |her |some )?money back", r"refund\1"),
    (r"(?:give|show|tell|get|fetch|find|bring|hand|list) (?:me|us)", "show"),
    (r"(?:like|want|need|love) to (?:know|see)", "show"),
    (r"(?:verify|make sure|see|find out|check|determine|test) (?:if|whether|that)", "check"),
    (rf"turn{_GAP}into", r"convert\1 into"),
    (rf"mark{_GAP}(?:as )?paid", r"pay\1"),
    (rf"(?:add|attach|put|stick){_GAP}(?:a )?label(s?)", r"add\1 label\2"),
    (rf"(?:sign|countersign){_GAP}off on", r"approve\1"),
    (r"money back", "refund"), (r"get rid of", "delete"), (r"do away with", "delete"), (r"clean up", "delete"),
    (r"wipe out", "delete"), (r"blow away", "delete"), (r"tear down", "delete"), (r"cross off", "delete"),
    (r"kick off", "run"), (r"set off", "trigger"), (r"fire off", "send"), (r"call off", "cancel"),
    (r"opt out of", "unsubscribe"), (r"opt in to", "subscribe"), (r"find out", "get"), (r"work out", "calculate"),
    (r"figure out", "get"), (r"check out", "checkout"), (r"ask for", "request"), (r"go through", "succeed"),
    (r"give up(?: on)?", "close"),
    (r"roll out", "deploy"), (r"rolled out", "deployed"), (r"scale (?:up|down|out|in)", "scale"),
    (r"get notified (?:when|of|about)", "watch"),
    (r"(?:be told|notify me|tell me|let me know) (?:when|about|if)", "watch"), (r"as (?:it|they) happens?", "watch"),
    (r"in real ?time", "live"), (r"keep an eye on", "watch"),
    (r"stop (?:getting|receiving)(?: mails?| emails?)?(?: about| from)?", "unsubscribe notification"),
    (r"ask (?:someone|somebody|\w+) to review", "request reviewer"), (r"sign off(?: on)?", "approve"),
    (r"say yes to|said yes to", "accept"), (r"say no to|said no to", "decline"),
    (r"thumbs? (?:up|down)", "add reaction"), (r"on file", "saved"), (rf"(?:turn|switch){_GAP}off", r"disable\1"),
    (rf"(?:turn|switch){_GAP}on", r"enable\1"), (rf"(?:take|move){_GAP}(?:away|off|down)", r"remove\1 from"),
    (rf"throw{_GAP}(?:away|out)", r"delete\1"), (rf"kick{_GAP}(?:out of|out|off of|off)", r"remove member\1 from"),
    (rf"bring{_GAP}back", r"restore\1"), (rf"(?:bring|get){_GAP}up to date", r"update\1"),
    (rf"(?:put|place){_GAP}on hold", r"pause\1"), (rf"(?:log|sign){_GAP}(?:into|in to)", r"login\1"),
    (r"(?:logged|signed|log|sign) in", "login"), (r"(?:logged|signed|log|sign) out", "logout"),
    (rf"(?:look|search){_GAP}up", r"lookup\1"), (rf"(?:hook|wire){_GAP}up", r"connect\1"),
    (rf"(?:set|spin|stand|fire|start){_GAP}up(?! to)", r"create\1"), (rf"(?:shut|bring){_GAP}down", r"stop\1"),
    (rf"(?:roll|go|revert){_GAP}back", r"rollback\1"), (rf"(?:hand){_GAP}over", r"transfer\1"),
    (rf"mark{_GAP}as (?:done|complete|completed|closed|finished|fixed|resolved)", r"close\1"),
    (rf"(?:sign|enroll|enrol){_GAP}up", r"create\1"),
    # who may do what
    (
        rf"(?:give|grant|allow){_GAP}(?:\w+ )?(?:access|permissions?|rights?)(?: to| on)?",
        r"add collaborator permission\1 to",
    ),
    (
        rf"(?:put|add|invite){_GAP}(?:to|on|onto|in) (?:an? |the |my |our )?((?:\w+ )?team)",
        r"add member\1 to team membership \2",
    ),
    (
        rf"(?:remove|drop|delete){_GAP}from (?:an? |the |my |our )?((?:\w+ )?team)",
        r"remove member\1 from team membership \2",
    ),
    (r"make \w+ (?:an? |the )?(owner|admin|member|maintainer) (?:of|in|on)", r"set membership role \1 of"),
    (r"who ?am ?i(?: logged in as)?", "get authenticated user"),
    # what is said by its first letters
    (r"pr(s?)", r"pull request\1"), (r"mr(s?)", r"pull merge request\1"), (r"pvc(s?)", r"persistent volume claim\1"),
    (r"pv(s?)", r"persistent volume\1"), (r"hpa(s?)", r"horizontal pod autoscaler\1"),
    (r"pdb(s?)", r"pod disruption budget\1"), (r"crd(s?)", r"custom resource definition\1"),
    (r"csr(s?)", r"certificate signing request\1"), (r"sts", "stateful set"), (r"ds", "daemon set"),
    (r"rs", "replica set"), (r"svc(s?)", r"service\1"), (r"cm(s?)", r"config map\1"),
    (r"sa(s?)", r"service account\1"), (r"netpol(s?)", r"network policy\1"), (r"pat(s?)", r"personal access token\1"),
    (r"sku", "stock item"), (r"kyc", "identity verification"), (r"dm", "direct message"),
    # what is written as one word
    (r"(stateful|daemon|replica)set(s?)", r"\1 set\2"), (r"(persistent)(volume)(s?)", r"\1 \2\3"),
    (r"persistentvolumeclaim(s?)", r"persistent volume claim\1"), (r"clusterrole(s?)", r"cluster role\1"),
    (r"(cluster)?rolebinding(s?)", r"\1 role binding\2"), (r"(network|security)polic(y|ies)", r"\1 polic\2"),
    (r"(storage|ingress|priority|runtime)class(es)?", r"\1 class\2"), (r"serviceaccount(s?)", r"service account\1"),
    (r"limitrange(s?)", r"limit range\1"), (r"resourcequota(s?)", r"resource quota\1"),
    (r"endpointslice(s?)", r"endpoint slice\1"), (r"(payment|setup)(intent|method|link)(s?)", r"\1 \2\3"),
    (r"pullrequest(s?)", r"pull request\1"),
    # things of two words
    (r"(?:two|2|multi)[- ]factor|2fa|mfa", "two factor authentication"), (r"log[- ]?in(s?)", r"login\1"),
    (r"sign[- ]?up(s?)", r"register\1"), (r"bill of materials", "sbom"),
    (r"merge[- ]request(s?)", r"pull merge request\1"), (r"cron ?job(s?)", r"cronjob cron job\1"),
    (r"config ?map(s?)", r"config map\1"), (r"time ?zone(s?)", r"timezone\1"),
    (r"(?:credit|debit) card(s?)", r"card\1"), (r"bank details", "bank account"), (r"web ?hook(s?)", r"webhook\1"),
    (r"web ?site(s?)", r"site\1"), (r"e-?mail(s?)", r"email\1"), (r"code ?base", "repository"),
    (r"git ?hub\.io", "pages"),
    (r"credit memo(s?)", r"credit note\1"),
    (r"cherry[- ]pick", "merge commit"), (r"out of date", "outdated"),
    (r"white[- ]?label", "branding"), (r"time ?off", "leave absence"), (r"to-?do(s?)", r"task\1"),
    (r"sign[- ]?in link(s?)", r"login link\1"), (r"drop[- ]?down(s?)", r"option\1"),
    (r"follow[- ]?up(s?)", r"task reminder\1"),
    (r"one[- ]off", "job"),
    (r"env(?:ironment)?[- ]var(?:iable)?(s?)", r"environment variable\1"), (r"every night|nightly", "schedule cron"),
    (r"every (?:hour|day|week|month|minute|\d+ \w+)", "schedule cron"),
    (r"(?:usage|metered)[- ]based", "usage metered"),
    (r"(?:send|move|wire) (?:the |some )?money", "transfer"),
    (r"(?:file|directory|folder) tree", "tree"),
    (r"(?:vat|tax) (?:number|registration)(s?)", r"tax id\1"),
    (r"(?:shipping|delivery) (?:cost|fee|price|charge|option)(s?)", r"shipping rate\1"),
    (r"fast[- ]forward", "advance"),
    (r"beneficial owner(s?)", r"person owner\1"),
    (r"port[- ]?forward(?:ing)?", "portforward"), (r"debug(?:ging)? container(s?)", r"ephemeral container\1"),
    (r"health[- ]?check(s?)", r"health status\1"), (r"commit history|git log", "commits"),
    (r"change ?log", "release notes"), (r"single sign[- ]?on", "sso"), (r"profile (?:picture|photo|image)", "avatar"),
    (r"sent items|sent mail", "sent messages"), (r"out of office", "vacation"), (r"address book", "contacts"),
    (r"shopping cart", "cart"), (r"wish ?list(s?)", r"favorites\1"), (r"price ?list(s?)", r"prices\1"),
    (r"past due", "overdue"), (r"in total", "count"),
    (r"requests? (?:do i have |have i )?(?:left|remaining)", "rate limit"), (r"api calls? left", "rate limit"),
    (r"(?:promo|discount|coupon) code(s?)", r"promotion code\1"),
    (r"sub[- ]?(?:tasks?|issues?)", "sub issue"), (r"child issue(s?)", r"sub issue\1"),
    (r"top[- ]?up(s?)", r"topup\1"), (r"pay ?out(s?)", r"payout\1"), (r"charge ?back(s?)", r"chargeback\1"),
    (r"hand ?off(s?)", r"transfer\1"), (r"open source", "public"),
)  # fmt: skip
_COMPILED = tuple((re.compile(rf"\b(?:{pattern})(?!\w)", re.IGNORECASE), said) for pattern, said in _PHRASES)
_UNWANTED = re.compile(r"\s(?:without|instead of|rather than|but not|not)\s", re.IGNORECASE)
_POSSESSIVE = re.compile(r"[\u2019']s\b")


def plain(query: str) -> str:
    """A query without what it does not want, and with one word in the place of several that mean it."""
    kept = _UNWANTED.split(query.strip(), maxsplit=1)[0] or query
    kept = _POSSESSIVE.sub("", kept)
    for pattern, said in _COMPILED:
        kept = pattern.sub(said, kept)
    return kept
