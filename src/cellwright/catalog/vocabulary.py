"""What people call things, and what APIs call them. Read from left to right only: an API's own words mean themselves.

English, of software forges, payments, clusters, and what else is often sold as an API: mail, calendars, files, chat,
tickets, users, shops, storage, networks. It is words only, and knows no API's operations.
"""

from __future__ import annotations

MEANS = {
    "people": """
    who: user member collaborator people owner; people: user member collaborator person; person: user member
    collaborator people; everyone: all member; everybody: all member; nobody: none; buyer: customer; shopper:
    customer; client: customer; payer: customer; patron: customer; subscriber: subscription customer consumer; seller:
    account merchant vendor; merchant: account; vendor: supplier account; marketplace: connect account; employee:
    member user cardholder; colleague: member collaborator user; coworker: member collaborator; teammate: member
    collaborator reviewer; staff: member employee user; guy: user; contractor: collaborator outside; maintainer:
    collaborator member; committer: contributor; author: contributor creator; visitor: traffic view; fan: follower
    stargazer; stargazer: star; watcher: subscriber watch; approver: reviewer; boss: owner admin; bot: app
    serviceaccount; company: organization; business: organization account; workspace: organization; enterprise:
    organization; login: session
    """,
    "forges": """
    patch: pull diff; bug: issue; ticket: issue booking event; problem: issue; defect: issue; story: issue; todo: task
    issue; discussion: comment thread; conversation: comment thread issue; remark: comment; feedback: comment review
    survey response; note: comment; thread: conversation comment; branch: ref reference; head: ref branch; tarball:
    archive download; zip: zipball archive artifact; zipball: archive zip; tar: tarball archive; folder: directory
    content; file: content blob; changelog: release note; attachment: asset file; binary: asset artifact; asset:
    attachment; ci: workflow action check build; pipeline: workflow run stage; build: workflow run; job: run; trigger:
    dispatch run; start: run dispatch; launch: run create; rerun: retry run; action: workflow; lint: check; badge:
    status shield; tick: status check; sha: commit; hash: sha commit; diff: compare; difference: compare diff; behind:
    compare; ahead: compare; blame: commit history; history: log event activity; backup: export migration snapshot
    archive; cve: advisory vulnerability; vuln: vulnerability advisory; vulnerability: advisory alert; leak: secret
    alert; sbom: dependency; dependency: package; finding: alert result; analysis: scanning; approval: review approve;
    thumb: reaction; emoji: reaction; favorite: star; bookmark: star saved; keyword: topic tag; tag: label ref; label:
    tag; board: project; kanban: project; column: field property; card: item payment method; epic: milestone; sprint:
    milestone iteration; deadline: milestone due; inbox: notification message; snippet: gist; paste: gist; website:
    site page domain; blog: site page; wiki: page; homepage: page site; domain: cname; ide: codespace; devbox:
    codespace; licence: seat license; seat: license booking quantity item; spend: billing usage cost limit charge
    amount; cost: billing usage price; traffic: view clone network; visit: view traffic; referrer: traffic;
    popularity: star; protect: protection; rule: ruleset policy; guard: protection rule; mirror: clone; stale: old;
    ex: former; report: create; runner: agent; hosted: runner node; squash: merge; land: merge payout; rebase: merge
    update; conflict: merge mergeable; unwatch: subscription; mute: subscription ignore; ping: test; redeliver:
    delivery attempt; resend: delivery send attempt; delivery: attempt shipping; contributed: contributor; wrote:
    contributor author; written: language; coder: contributor developer; outdated: dependency; upgrade: update version
    subscription; downgrade: update version subscription; owner: codeowner member admin; banner: announcement image;
    announcement: post message; forum: discussion; poll: vote survey; vote: reaction; upvote: reaction vote; react:
    reaction; heart: reaction; reopen: open state; resolve: close dismiss; ignore: dismiss; snooze: dismiss; silence:
    dismiss mute; triage: label assign; prioritize: priority; backlog: project issue; roadmap: milestone project;
    changes: commit diff compare; revision: commit version controller; rev: commit; tree: content directory; codebase:
    repository code; artifact: package build; registry: package container; library: package; module: package; npm:
    package; docker: container image; maven: package; environment: deployment; staging: environment pipeline;
    production: environment deployment; deployed: deployment; shipped: deployment release delivery shipment; preview:
    draft upcoming; secret: credential; vault: secret; signature: sign verification footer; gpg: key signature;
    certificate: key tls; fingerprint: key; audit: log event; log: event authenticated; timeline: event history; feed:
    event activity; stats: statistic metric status; statistic: stat; graph: stat metric chart; chart: stat report;
    contribution: contributor stat; frequency: stat; followers: follow; friend: follow contact; connection: link;
    harass: block report; abuse: block report; limit: restriction quota range; guest: collaborator outside; outsider:
    outside collaborator; external: outside; outside: external; promote: role membership update; demote: role
    membership update; hire: invite add; fire: remove member; leaver: member remove; joined: membership member; leave:
    membership remove; roster: member list; crew: team; squad: team; department: team group; division: organization
    team; subteam: child team
    """,
    "money": """
    reimburse: refund; reimbursement: refund; repay: refund; chargeback: dispute; fraud: radar review dispute;
    contest: dispute; fight: dispute; evidence: dispute; bill: invoice; receipt: invoice charge; debt: invoice
    uncollectible; voucher: coupon promotion discount; discount: coupon promotion; promo: promotion coupon; rebate:
    coupon credit; deal: coupon discount; offer: promotion quote; plan: price subscription; tier: plan price class
    level; membership: subscription member; renewal: subscription; renew: subscription certificate; trial:
    subscription; recurring: subscription cron schedule; monthly: subscription recurring plan; pay: payment; paid:
    payment; payment: charge; purchase: order payment charge; buy: checkout order purchase; cart: checkout session
    item; basket: cart checkout; checkout: session; sale: product order charge report; sell: product; merchandise:
    product; goods: product; item: line product; vat: tax; gst: tax; tax: vat rate; commission: fee; fee: application
    charge; cut: fee; payout: transfer withdrawal; withdraw: payout; withdrawal: payout; deposit: topup credit; fund:
    topup balance payment; wallet: balance account payment; money: balance transfer payment charge; cash: balance;
    earning: balance payout; revenue: balance report; income: balance report received inbound; iban: bank account;
    wire: bank transfer; bank: account; credit: balance; authorized: authorization capture; hold: authorization pause;
    settle: capture pay; terminal: reader exec attach; pos: terminal reader; device: reader; forex: exchange rate; fx:
    exchange rate; conversion: exchange event goal; exchange: rate; estimate: quote preview; proposal: quote;
    upcoming: preview next scheduled; next: upcoming; forecast: upcoming preview projection; subscribe: subscription
    watch; kyc: verification identity; selfie: verification identity; passport: identity document verification;
    statement: report transaction; ledger: transaction balance entry; movement: transaction; warehouse: location
    inventory; stock: inventory; sku: product inventory; shop: store; store: location; onboard: account link; portal:
    session; uncollectible: bad; overdue: unpaid past due; unpaid: open; mandate: debit; swap: replace update;
    metered: usage record; consumption: usage; dunning: overdue invoice; late: overdue; arrears: overdue; owed: due
    balance; owe: due balance; amount: total; price: cost amount; rate: price review; sum: total; memo: note;
    blocklist: list value radar; allowlist: list value radar; blacklist: block list; whitelist: allow list; proof:
    evidence; document: file; descriptor: statement; ach: bank account; sepa: bank debit; microdeposit: verify bank;
    beneficiary: external account recipient; director: person; shareholder: person; representative: person;
    capability: feature; entitlement: feature; split: transfer share; share: transfer link; tip: gratuity; donation:
    payment; donate: payment; crowdfund: payment; gift: coupon card; loyalty: reward point; reward: point; cashback:
    refund reward; installment: payment plan; lease: rental; rent: payment; salary: payroll payout; payroll: payout;
    expense: transaction; spent: transaction usage; activity: transaction event; operation: transaction; bookkeeping:
    accounting report; accounting: report ledger; settlement: payout balance; arrive: payout arrival; decline: reject
    failed; failed: error; bounced: failed restart event; 3ds: authentication; verification: identity; catalogue:
    product; variant: sku product; inventory: stock; order: checkout; package: product; bundle: product; postage:
    shipping; freight: shipping; courier: shipping carrier shipment; tokenise: token; tokenize: token; sandbox: test;
    simulate: test; fake: test; mock: test; clock: time; sub: subscription; churn: canceled subscription; unsubscribe:
    cancel subscription; quit: cancel; terminate: cancel delete; abandon: expire open; reverse: reversal refund; undo:
    reversal revert
    """,
    "clusters": """
    cluster: kubernetes; machine: node host instance; server: node host instance; vm: instance machine; worker: node;
    box: node machine; container: pod; workload: deployment pod; rollout: deployment; roll: deployment; replica:
    scale; scale: replica; autoscaling: autoscaler; quota: limit resource; daemon: set; cron: cronjob job; nightly:
    cronjob cron schedule; stateful: set; disk: volume; ssd: volume disk; mount: volume; volume: disk; storage:
    volume; rbac: role binding; privilege: permission role; allowed: access permission review; permitted: access
    permission rule; firewall: network policy security group; proxy: forward; hostname: ingress host; route: ingress
    direction path; url: link; loadbalancer: service; balancer: service; expose: service ingress secret alert; tls:
    certificate secret; ssl: certificate; https: certificate tls; password: secret credential; credential: secret
    token key; env: variable; setting: configuration config; option: configuration setting; preference: setting
    configuration; manifest: spec; yaml: manifest; stdout: log; stderr: log; output: log; console: log exec attach;
    print: log; trace: log; shell: exec; ssh: exec; command: exec; troubleshoot: debug; drain: evict eviction; plugin:
    driver extension; operator: custom resource; health: status; healthy: status; alive: status; uptime: status health
    monitor check; ready: status; broken: error status; crash: log event pod; metric: usage stat; monitor: metric
    watch; telemetry: metric; event: activity; gpu: resource device; throttle: limit priority; identity: account;
    reviewer: review; cordon: node; taint: node; uncordon: node; kubelet: node; tenant: namespace customer; crashloop:
    pod log; sidecar: container; instances: replica scale server; parallelism: job; batch: job bulk; cronjob: cron
    job; periodic: cron schedule; stable: stateful; snapshot: volume backup; persistent: volume; nfs: volume;
    filesystem: volume file; capacity: quota resource; cpu: resource; memory: resource; ram: resource memory; budget:
    limit quota; grant: permission role access; permission: role access; access: permission role; policy: rule;
    admission: webhook; intercept: webhook; dns: service record domain zone; internal: private; port: portforward;
    tunnel: forward proxy; reach: connect proxy; bash: exec; tty: exec attach; stream: watch; observe: watch; listen:
    watch event; rollback: revision revert restore; extension: api custom; definition: schema; schema: definition;
    kind: type resource; priority: class importance; component: status; version: release
    """,
    "everything else": """
    happened: event; wrong: error event; news: event feed; photo: image picture; picture: image photo avatar; avatar:
    image; video: media; mail: email message; email: message mail; newsletter: campaign mailing; channel: conversation
    room; room: channel conversation accommodation; dm: message; chat: message channel conversation; meeting: event;
    appointment: event booking; booking: reservation; reservation: booking; reminder: notification alarm; spreadsheet:
    sheet workbook; tab: sheet; form: survey; survey: form; questionnaire: survey form; lead: contact; prospect: lead
    contact; opportunity: deal; article: post page; agent: user; macro: template; draft: create unpublished; bucket:
    storage container; object: file; blob: file; droplet: server instance; nameserver: dns zone; alarm: alert;
    incident: alert event; dashboard: board; query: search; track: song; song: track; playlist: list; show: episode;
    flight: itinerary; trip: journey ride; parcel: shipment package; address: location; place: location; location:
    address; zipcode: postal; postcode: postal; language: locale; translation: locale translate; webhook: hook;
    callback: webhook; hook: webhook; endpoint: webhook url service; integration: app installation; addon: extension
    app; installed: installation; token: credential; apikey: key token; otp: factor code verification; mfa: factor
    authentication; sso: saml identity; gdpr: privacy; consent: privacy; robot: bot; ip: address; remaining: limit;
    left: remaining; csv: report export; pdf: document; spam: abuse junk; child: sub; subtask: sub; parent: super;
    duplicate: copy; signup: register user; signin: login session; logout: session revoke; session: login; forgot:
    reset password; reset: password; passcode: code password; number: phone; sms: message text; text: message;
    whatsapp: message; call: phone voice; voicemail: recording; recording: media audio row entry; transcript:
    transcription; subtitle: caption; thumbnail: image; logo: image icon; icon: image emoji; clip: video; movie: video
    film; film: movie; tune: track song; artist: performer; album: record; match: game fixture search; score: result;
    standings: table ranking; leaderboard: ranking score; rank: position; stadium: venue; venue: location place;
    concert: event; hotel: property accommodation; cab: ride; taxi: ride; car: vehicle; truck: vehicle; fleet:
    vehicle; directions: route; nearby: near location; geocode: location address; coordinates: location latitude; map:
    location; doctor: practitioner; patient: person; prescription: medication; allergy: condition; lab: observation;
    student: learner user; teacher: instructor; class: course; course: class; homework: assignment; exam: test quiz;
    grade: score mark; applicant: candidate; candidate: applicant; resume: candidate; vacancy: job position; opening:
    job position view; interview: event application; timesheet: time entry; hours: time entry; vacation: leave
    absence; holiday: leave absence; wage: salary; benefit: deduction; recipe: meal; ingredient: food; menu: item;
    restaurant: venue business; review: rating; stars: rating; faq: article; helpdesk: ticket; complaint: ticket;
    case: ticket; sla: policy; queue: view group; cell: range; row: record; table: dataset; dataset: table; field:
    property attribute; tagline: description; bio: profile description; profile: user account; nickname: name; handle:
    username; username: login; timezone: locale; dark: theme; theme: appearance; widget: dashboard component; slo:
    objective; pager: incident oncall; oncall: schedule incident; outage: incident; downtime: incident maintenance;
    postmortem: incident; span: trace; exception: error issue; stacktrace: error event; heartbeat: monitor check; cdn:
    distribution cache; purge: cache; invalidate: cache purge; flush: cache; registrar: domain; subdomain: domain
    record; cname: record; mx: record; subnet: network; vpc: network; lan: network; vpn: tunnel network; gateway:
    endpoint; lambda: function; serverless: function; topic: subject; broker: queue; mailbox: inbox message; unread:
    status read; calendar: event; agenda: event calendar; rsvp: attendee response; invitee: attendee guest;
    recurrence: repeat; standup: meeting; zoom: meeting; webinar: meeting event; deck: presentation slide; slides:
    presentation; doc: page document readme; notebook: document page; template: layout; campaign: broadcast; audience:
    list segment; segment: audience list; click: event; optin: consent subscribe; pixel: tracking; funnel: report;
    kpi: metric report; cohort: segment; crm: contact; quote: estimate; contract: agreement; nda: agreement; esign:
    signature envelope; sign: signature; envelope: document; territory: region; region: location zone; zone: region;
    datacenter: region; outgoing: outbound; pending: open waiting; waiting: pending; assigned: assignee; spec:
    specification; delay: schedule; postpone: reschedule; suspicious: fraud warning; risky: fraud review; scam: fraud;
    stolen: fraud lost; lost: status; frozen: status inactive; freeze: status update; deactivate: active update;
    activate: active enable; hide: visibility; unhide: visibility; visible: visibility; private: visibility; public:
    visibility; rename: name update; title: name; description: body; stuck: status; finished: status complete;
    succeeded: status; progress: status; running: status; dead: status; offline: status; online: status; usage:
    consumption; balance: amount; downloads: count; size: usage; space: storage usage; conduct: code; terms:
    agreement; compliance: audit policy; exclude: exclusion; scan: analysis; scanner: scanning; codeql: scanning;
    dependabot: dependency alert; weakness: vulnerability; exploit: vulnerability; security: alert advisory; malware:
    vulnerability; rotate: key secret; expired: certificate; expiry: expire; issuer: certificate; ips: address
    endpoint; upstream: service; urgent: priority; importance: priority; attach: attachment; detach: attachment;
    evict: eviction; bulk: batch; total: count; many: count; average: metric; popular: top; trending: popular top;
    provenance: attestation; gate: protection rule; documentation: readme page; mentioning: search; containing:
    search; payee: account recipient; platform: application account; quantity: item; addition: item; overage: usage
    record; collect: payment invoice; retry: rerun attempt; kubeconfig: configuration; pool: group; sensor: device
    reading; thermostat: device; lightbulb: device light; wifi: network; printer: device; laptop: device; phone:
    device number; microservice: service; process: run job; automation: workflow rule; zap: workflow automation; flow:
    workflow; step: task; checklist: task list; stopwatch: timer; saved: favorite; hated: block; replied: reply;
    liked: reaction star; invited: invitation; removed: delete; deleted: trash; undelete: restore; recover: restore;
    revert: restore rollback; trash: deleted; recycle: trash; bin: trash; profit: balance report; turnover: report
    revenue; cancelled: cancel; outstanding: unpaid open due; due: unpaid open; weekly: schedule; daily: schedule;
    hourly: schedule; yearly: recurring plan; annual: recurring plan; sibling: related; related: associated; linked:
    associated connection; associated: linked; connected: account; belongs: owner; mine: authenticated; myself:
    authenticated; self: authenticated; current: authenticated latest
    """,
}
