"""Guest code that looks for keys, a cell each: it prints whatever it gets to see."""

from __future__ import annotations

NAMES = """
names = {name: value for name, value in dict(globals()).items() if name[0] != '_'}
del names['show'], names['search'], names['done']
loot = []
def keep(use):
    try:
        loot.append(f'{use()!s}')
    except BaseException as error:
        loot.append(f'{error} {error!r} {error.args} {vars(error)} {error.__cause__!r} {error.__context__!r}')
def loot_told():
    told = '\\n'.join(dict.fromkeys(loot))
    loot.clear()
    return told
"""
REPRS = """
import copy, inspect, json, pickle, pprint, pydoc
for one in names.values():
    for use in (repr, str, format, dir, vars, inspect.signature, inspect.getdoc, inspect.getsource,
                pydoc.render_doc, copy.copy, pickle.dumps, list, dict, bytes, iter, len, hash, json.dumps,
                pprint.pformat, inspect.getmembers, inspect.getclosurevars):
        keep(lambda: use(one))
print(loot_told())
"""
ATTRIBUTES = """
wanted = '''__dict__ __closure__ __defaults__ __kwdefaults__ __wrapped__ __globals__ __code__ __self__ __func__
    __reduce_ex__ __getstate__ __annotations__ __text_signature__ func args keywords headers auth cookies params
    base_url _base_url _auth _headers _cookies api_key auth_token _client _client_config client meta _credentials
    _request_signer url dialect pool raw_connection engine connection cursor options settings api_token password
    _hand_token _unnamed _Vault__jwt _inner _api_key _post _redactor _options server link call root surface _security
    _argv _jail'''.split()
for one in names.values():
    for name in [*wanted, *dir(one)]:
        keep(lambda: getattr(one, name))
print(loot_told())
"""
CALLS = """
calls = [
    lambda: in_closure(), lambda: by_default(), lambda: partly(), lambda: connect(), lambda: chained(),
    lambda: in_lambda(), lambda: by_global(), lambda: wrapped(), lambda: cached(), lambda: method(), lambda: called(),
    lambda: in_closure(vault), lambda: by_default(text=in_closure), lambda: partly(by_default),
    lambda: vault.refuse(), lambda: vault.fail(), lambda: vault.group(), lambda: vault.login(), lambda: vault.text(),
    lambda: vault.password, lambda: vault.login().password, lambda: Login('a', 'b'), lambda: Login(vault, in_closure),
    lambda: in_closure(1, 2, 3), lambda: by_default(smtp_password=1, nothing=2), lambda: partly(secret=1, token=2),
    lambda: called(a=1), lambda: vault.refuse(1, 2), lambda: vault.__init__(),
]
def requests_of(client, base):
    return [
        lambda: client.get(base + '/x'), lambda: client.get(base + '/x').url, lambda: client.get(base + '/x').url.query,
        lambda: repr(client.get(base + '/x').url), lambda: str(client.get(base + '/x').url), lambda: client.get(3),
        lambda: client.get(base + '/x').raise_for_status(), lambda: client.post(base + '/x', json=client),
        lambda: client.get(base + '/x', auth=('a', 'b')), lambda: client.get(base + '/x').request.headers,
        lambda: client.get(base + '/x', timeout=client), lambda: client.build_request('GET', '/x').headers,
        lambda: dict(client.get(base + '/x').headers), lambda: client.get(base + '/x', headers={'a': client}),
        lambda: client.get('http://[::1'), lambda: client.get('http://127.0.0.1:1/x'), lambda: client.get('http://\\x00/'),
        lambda: client.get(base + '/x', timeout=1e-9), lambda: vars(client.get(base + '/x')),
    ]
for name, base in (('httpx', ''), ('httpx2', ''), ('httpx_login', ''), ('requests', here)):
    calls += requests_of(names[name], base) if name in names else []
calls += [lambda: lite.execute('select * from nothing'), lambda: lite.execute('pragma database_list').fetchall()]
for call in calls:
    keep(call)
print(loot_told())
async def waits(call):
    try:
        loot.append(str(await call()))
    except BaseException as error:
        loot.append(f'{error!r} {vars(error)}')
for call in (hidden, lambda: hidden(vault), lambda: httpx2_async.get('/x'), lambda: httpx2_async.get('http://127.0.0.1:1/x')):
    await waits(call)
print(loot_told())
"""
LARGE = """
calls += [
    lambda: s3.list_buckets(), lambda: s3.get_object(Bucket='b', Key='k'), lambda: s3.get_object(),
    lambda: s3.nothing(),
    lambda: s3.generate_presigned_url('get_object', Params={'Bucket': 'b', 'Key': 'k'}),
    lambda: chatgpt.models.list(), lambda: chatgpt.chat.completions.create(model='m', messages=[]),
    lambda: claude.models.list(), lambda: claude.messages.create(model='m', max_tokens=3, messages=[]),
    lambda: chatgpt.responses.create(model=claude, input=3), lambda: chatgpt.with_options(), lambda: claude.copy(),
    lambda: engine.connect(), lambda: engine.url, lambda: engine.begin().__enter__(), lambda: engine.pool,
]
for call in calls:
    keep(call)
print(loot_told())
"""
CONNECTORS = """
for group in ('head', 'query', 'cookie', 'basic', 'bearer'):
    for status in (200, 401, 500):
        keep(lambda: getattr(getattr(shop, group), f'{group}_{status}')())
    keep(lambda: getattr(getattr(shop, group), f'{group}_200')(nothing=3))
for server in (names[name] for name in ("notes", "far", "agreed") if name in names):
    keep(lambda: server.whoami())
    keep(lambda: server.stumble())
    keep(lambda: server.stumble(nothing=vault))
    keep(lambda: server.nothing())
keep(lambda: notes.die())
keep(lambda: notes.whoami())
keep(lambda: sort.run('/nothing'))
keep(lambda: sort.run('--nothing'))
keep(lambda: sort.run(stdin=sort))
keep(lambda: sort.run(files={'../x': 'y'}))
print(loot_told())
"""
SURROUNDINGS = """
import glob, os, sys
loot += [str(dict(os.environ)), str(sys.argv), str(sys.flags), str(os.listdir('.'))]
for pattern in ('/proc/self/*', '/proc/self/fd/*', '/proc/*/cmdline', '/proc/*/environ', '/tmp/*', '/workspace/*',
                '/run/*', '/root/*', '/root/.*', '/home/*/.*', '/.host/*', '/etc/*', '~/*'):
    for path in [pattern, *glob.glob(pattern)]:
        keep(lambda: open(path, 'rb').read(100_000))
frame = sys._getframe()
while frame is not None:
    loot += [f'{name} {value}' for name, value in frame.f_locals.items() if value not in (loot, names)]
    frame = frame.f_back
print(loot_told())
"""
MEMORY = """
import gc
texts = set()
for one in gc.get_objects():
    texts.update(part for part in gc.get_referents(one) if type(part) in (str, bytes) and len(part) == 20)
loot += map(ascii, texts)
print(loot_told())
"""
TEXTS = """
for name in names:
    try:
        loot.append(show(name))
    except NameError as error:
        loot.append(str(error))
for words in ('key', 'token password', 'env', 'run sort', 'refuse', 'Authorization'):
    loot.append(str(search(words)))
print(loot_told())
"""
QUESTIONS = """
import asyncio
for body in [*names.values(), {'a': [vault.login()]}]:
    keep(lambda: mail.send('ann', body))
keep(lambda: mail.send(vault, vault))
print(loot_told())
"""
TOLD = """
given = control()
print(given)
with open('found.txt', 'w') as file:
    file.write(given)
mail.send('ann', given)
os.environ['FOUND'] = given
"""
UNCAUGHT = ("vault.refuse()", "vault.fail()", "chained()", "in_closure(vault)", "connect()")
SOME = (NAMES, REPRS, CALLS, CONNECTORS, SURROUNDINGS, QUESTIONS, TOLD, *UNCAUGHT)
ALL = (NAMES, REPRS, ATTRIBUTES, CALLS, LARGE, CONNECTORS, SURROUNDINGS, MEMORY, TEXTS, QUESTIONS, TOLD, *UNCAUGHT)
