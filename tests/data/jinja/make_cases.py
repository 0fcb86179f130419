#!/usr/bin/env python3
"""Renders templates with Jinja2 in the environment of chat templates and writes cases.json beside itself.

Needs the package jinja2 (written with 3.1.6). Run it after adding a template below:
    python3 make_cases.py
"""
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = 1709210096  # 2024-02-29 12:34:56 UTC, a Thursday


class Generation(jinja2.ext.Extension):
    """{% generation %} … {% endgeneration %}: prints its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def strftime_now(format):
    return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).replace(tzinfo=None).strftime(format)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


CONTEXT = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "  Hi, <there>\n"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "function": {"name": "look", "arguments": {"x": 1, "y": [1.5, None, True], "z": "ü\"\\\n"}}}]},
        {"role": "tool", "content": "42", "tool_call_id": "c1"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {
        "type": "object", "properties": {"b": {"type": "string", "enum": ["p", "q"]}, "a": {"type": "integer"}},
        "required": ["b"]}}}],
    "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True,
    "n": 7, "neg": -7, "f": 2.5, "big": 123456789012345678901, "t": "Hello World", "u": "Größe ΑΣ ﬁn 日本 🙂 ǆ İ",
    "words": ["pear", "Apple", "fig", "apple", "Banana"], "nums": [3, 1, 2, 1], "empty": [], "none": None, "yes": True,
    "d": {"b": 2, "a": 1, "C": {"k": "v"}, "items": "own"}, "lines": "one\n  two\n\nthree\r\nfour",
    "people": [{"name": "Ann", "age": 30, "city": {"n": "Rome"}}, {"name": "bob", "age": 25, "city": {"n": "Oslo"}},
               {"name": "Cid", "age": 30, "city": {"n": "oslo"}}, {"name": "dan"}],
    "tree": [{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]}, {"v": 5, "c": []}],
    "ctl": "\x00\x1f\x7f\x85\u2028\ue000\u200b\U0001f600é'\"\\\t",
}

TEMPLATES = r"""
a{# c #}b{#- c -#} d {#+ c +#} e
=====
  {# alone #}
x
=====
  {% if yes %}
  y
  {% endif %}
z
=====
  {%+ if yes %}
  y
  {%+ endif +%}
z
=====
a {%- if yes -%} b {%- endif -%} c
=====
{{ t }}
{{- t -}}
 x
=====
{% raw %}
  {{ x }} {% if %}
{% endraw %}
t
=====
{%- raw -%}  {{ x }}  {%- endraw -%}  t
=====
 {% for i in range(3) %}
  {{ i }}
 {% endfor %}
=====
{% if yes %}a
{% endif %}
{% if yes %}
b{% endif %}

c
=====
x


=====
{{ "a\tb\n\x41\u00e9\101\q\\" }}{{ 'it''s' "x" }}
=====
{{ 1_000 }} {{ 0x1f }} {{ 0o17 }} {{ 0b101 }} {{ 1e3 }} {{ 1.5e-3 }} {{ 1_0.2_5 }} {{ 00 }}
=====
{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 // -2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 6 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }}
=====
{{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 5.0 % -3 }} {{ 0.1 + 0.2 }} {{ 1e308 * 10 }} {{ -1e308 * 10 }} {{ 4 / 2 * 3 }} {{ 1 - 2 - 3 }}
=====
{{ 1e15 }} {{ 1e16 }} {{ 123456789012345680.0 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1.0 }} {{ 100.0 }} {{ 5e-324 }} {{ 1.7976931348623157e308 }} {{ -0.0 }}
=====
{{ true + 1 }} {{ true * 3 }} {{ -true }} {{ +n }} {{ - n }} {{ n - -n }} {{ true and 2 }} {{ 0 or 'x' }} {{ none or false }} {{ '' and 1 }}|
=====
{{ big }} {{ big + 1 }} {{ big * 2 }} {{ 99999999999999999999 // 7 }} {{ 2 ** 100 }} {{ big > 1e20 }} {{ 9007199254740993 == 9007199254740992.0 }}
=====
{{ 'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1] ~ missing }}|{{ 'ab' * 3 }}|{{ 3 * 'x' }}|{{ [1] * 2 }}|{{ 'x' * -1 }}|{{ (1,) + (2,) }}|{{ [1] + [2] }}
=====
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1 != 2 }} {{ 'a' in 'cat' }} {{ 'z' not in 'cat' }} {{ 2 in [1, 2] }} {{ 'b' in d }} {{ 1.0 in [1] }} {{ none in [none] }} {{ 3 in (1, 2) }} {{ '' in '' }}
=====
{{ not 1 == 2 }} {{ not yes and yes }} {{ not (yes and yes) }} {{ 1 if yes else 2 }} {{ 1 if not yes }}|{{ (1 if not yes) is defined }} {{ 'a' if false else 'b' if false else 'c' }}
=====
{{ [1, 2] < [1, 3] }} {{ [1] < [1, 0] }} {{ 'a' < 'b' }} {{ (1, 'a') < (1, 'b') }} {{ 1 < 1.5 }} {{ true < 2 }} {{ 'Z' < 'a' }} {{ 'é' > 'z' }}
=====
{{ t[0] }}{{ t[-1] }}|{{ t[1:4] }}|{{ t[:-6] }}|{{ t[::-1] }}|{{ t[::2] }}|{{ t[10:2:-3] }}|{{ t[-100:3] }}|{{ t[100:] }}|{{ u[3:6] }}|{{ u[-3] }}
=====
{{ nums[1:] }} {{ nums[::-1] }} {{ nums[-2:] }} {{ nums[5:] }} {{ nums[:0] }} {{ (1, 2, 3)[1:] }} {{ nums[3:0:-2] }} {{ range(10)[2:5]|list }} {{ nums[none:2] }}
=====
{{ nums[9] is defined }} {{ nums[-5] is defined }} {{ t[99] is defined }} {{ d.nope is defined }} {{ d['nope'] is defined }} {{ none.x is defined }} {{ n.x is defined }} {{ n[0] is defined }} {{ nums['x'] is defined }}
=====
{{ d.b }} {{ d['b'] }} {{ d.C.k }} {{ d['C']['k'] }} {{ d['items'] }} {{ d.items()|length }} {{ nums.0 }} {{ people.0.city.n }} {{ d.get('a') }} {{ d.get('z') }} {{ d.get('z', 5) }}
=====
{{ __x__ is defined }} {{ d.__class__ is defined }} {{ ''.__class__ is defined }} {{ messages.__class__.__mro__ is defined }}
=====
{{ [1, 'a', none, true, 1.5, (), (1,), {}, {'a': [1]}, "it's", 'q"', 'b\'"'] }}
=====
{{ ctl|list }}
=====
{{ [u] }} {{ {1: 2, none: 3, 1.5: 4, (1, 2): 5, true: 6} }}
=====
{{ d.keys() }} {{ d.values() }} {{ d.items() }} {{ range(3) }} {{ range(1, 9, 2) }} {{ range(5, 0, -2)|list }} {{ range(0)|list }}
=====
{{ {'a': 1, 'a': 2, 'b': 3} }} {{ {1: 'x', 1.0: 'y', true: 'z'} }} {{ {'k': 1}['k'] }} {{ {(1, 'a'): 5}[(1, 'a')] }}
=====
{{ dict(a=1, b=[2]) }} {{ dict([('x', 1), ('y', 2)]) }} {{ dict({'q': 1}, w=2) }} {{ dict() }} {{ dict(d, b=5).b }}
=====
{% set ns = namespace(a=1, b='x') %}{{ ns.a }}{{ ns.b }}{% set ns.a = ns.a + 5 %}{% set ns.new = [ns.a] %}{{ ns.a }}{{ ns.new }}{{ ns.nope is defined }} {{ ns }}
=====
{% set ns = namespace({'k': 1}, z=2) %}{% for i in range(3) %}{% set ns.k = ns.k * 2 %}{% endfor %}{{ ns.k }} {{ ns['z'] }} {{ ns.k is number }}
=====
{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }}
=====
{% set x, y = 1, 2 %}{% set (a, b) = [3, 4] %}{{ x }}{{ y }}{{ a }}{{ b }}{% set q = 1, %}{{ q }}
=====
{% set w, = [5] %}{{ w }}
=====
{{ x is defined if yes else 1 }}
=====
{% set a %}  text {{ n }}{% endset %}[{{ a }}]{% set b | upper | trim %} hi {% endset %}[{{ b }}]{% set c | replace('a', 'b') %}aaa{% endset %}{{ c }}
=====
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }},{% endfor %}{% for c in 'héy' %}{{ c }}.{% endfor %}{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}
=====
{% for i in nums %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}
=====
{% for i in nums %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {{ loop.cycle('odd', 'even') }} {{ loop.changed(i > 1) }};{% endfor %}
=====
{% for i in nums if i > 1 %}{{ loop.index }}/{{ loop.length }}:{{ i }} {% else %}none{% endfor %}{% for i in nums if i > 9 %}x{% else %}none{% endfor %}
=====
{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}{% for i in [1] %}{% break %}{% else %}E{% endfor %}
=====
{% for i in [1, 2] %}{% for j in [1, 2] %}{{ loop.index }}{{ i }}{{ j }}{% if j == 1 and i == 2 %}{% break %}{% endif %} {% endfor %}{{ loop.index }}|{% endfor %}
=====
{% for x in tree recursive %}[{{ x.v }}@{{ loop.depth }}{% if x.c %}{{ loop(x.c) }}{% endif %}]{% endfor %}
=====
{% for i in missing %}x{% else %}empty{% endfor %}{% for i in [] %}x{% endfor %}{% for a in 1, 2, 3 %}{{ a }}{% endfor %}
=====
{% macro f(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, c=3) }} {{ f(b=1, a=0) }} {{ f(*[7, 8]) }} {{ f(**{'a': 'k'}) }} {{ f() }}
=====
{% macro f(a) %}{{ a }}|{{ varargs }}|{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, x=4) }} {{ f() }}
=====
{% macro outer(x) %}{% macro inner(y) %}{{ x }}{{ y }}{% endmacro %}{{ inner(1) }}{{ inner(2) }}{% endmacro %}{{ outer('o') }}
=====
{% macro fact(n) %}{% if n <= 1 %}1{% else %}{{ n * fact(n - 1)|int }}{% endif %}{% endmacro %}{{ fact(10) }}
=====
{% set v = 'g' %}{% macro show() %}{{ v }}{{ later }}{% endmacro %}{% set later = 'L' %}{{ show() }}{% set v = 'h' %}{{ show() }}
=====
{% macro list(items) %}<{% for i in items %}{{ caller(i, loop.index) }}{% endfor %}>{% endmacro %}{% call(i, k=0) list([5, 6]) %}{{ k }}:{{ i }} {% endcall %}
=====
{% macro m() %}{{ caller is defined }}{{ caller() if caller }}{% endmacro %}{{ m() }}{% call m() %}body{% endcall %}
=====
{% macro f(x) %}{{ x }}{% endmacro %}{% for i in [1, 2] %}{{ f(i) }}{% endfor %}{{ f('a') ~ f('b') }}{{ f is callable }} {{ [f(1), f(2)] }}
=====
{% filter upper | replace('B', '-') %}abc {{ t }}{% endfilter %}{% filter trim %}  x  {% endfilter %}|{% filter indent(2) %}a
b{% endfilter %}
=====
{% with a = 1, b = 2 %}{{ a + b }}{% set a = 9 %}{{ a }}{% endwith %}{{ a is defined }}{% with %}{% set z = 1 %}{% endwith %}{{ z is defined }}
=====
{% generation %}gen {{ n }}{% set inner = 1 %}{% endgeneration %}|{{ inner is defined }}
=====
{% if empty %}a{% elif none %}b{% elif n > 5 %}c{% else %}d{% endif %}{% if not empty and n %}e{% endif %}{% if 0.0 %}x{% elif '' %}y{% endif %}
=====
{% print 1, 'a' %}{% set s = 'x' if yes else 'y' %}{{ s }}
=====
{{ '  ab  '|trim }}|{{ 'xxabxx'|trim('x') }}|{{ '  ab '.strip() }}|{{ 'xyabyx'.strip('xy') }}|{{ '  a '.lstrip() }}|{{ ' a  '.rstrip() }}|{{ 'aab'.lstrip('a') }}|{{ 'x\u00a0\u3000'.strip() }}|
=====
{{ 'a,b,,c'.split(',') }} {{ ' a  b c '.split() }} {{ 'a b c'.split(' ', 1) }} {{ 'a b c'.rsplit(' ', 1) }} {{ ' a b  c '.split(none, 1) }} {{ ' a  b c '.rsplit(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a--b--c'.split('--', maxsplit=1) }}
=====
{{ 'a<think>b</think>c'.split('</think>')[-1] }} {{ 'a<think>b</think>c'.split('</think>')[0].split('<think>')[-1] }} {{ 'x'.split('y') }} {{ 'aXbXc'.partition('X') }} {{ 'aXbXc'.rpartition('X') }} {{ 'a'.partition('X') }} {{ 'a'.rpartition('X') }}
=====
{{ t.startswith('Hell') }} {{ t.endswith('ld') }} {{ t.startswith(('x', 'H')) }} {{ t.startswith('World', 6) }} {{ t.endswith('o', 0, 5) }} {{ t.find('o') }} {{ t.find('o', 5) }} {{ t.find('z') }} {{ t.rfind('o') }} {{ u.find('日') }} {{ t.index('W') }} {{ t.count('l') }} {{ 'aaaa'.count('aa') }} {{ 'abc'.count('') }}
=====
{{ u.upper() }} {{ u.lower() }} {{ u.title() }} {{ u.capitalize() }} {{ u.swapcase() }} {{ 'straße'.upper() }} {{ 'ΟΔΟΣ ΟΔΟΣ'.lower() }} {{ "they're bill's"|title }} {{ "they're bill's".title() }} {{ 'foo-bar (baz) a_b'|title }} {{ 'HELLO wORLD'|capitalize }}
=====
{{ t.replace('l', 'L') }} {{ t.replace('l', 'L', 1) }} {{ t|replace('o', '0', 1) }} {{ 'abc'.replace('', '-') }} {{ 'aaa'|replace('aa', 'b') }} {{ 12345|replace(3, 'x') }} {{ 'ü日'.replace('', '.', 2) }}
=====
{{ '-'.join(['a', 'b']) }} {{ ', '.join(words) }} {{ ''.join('abc') }} {{ words|join('|') }} {{ people|join(', ', attribute='name') }} {{ [1, none, 2.0, missing]|join('-') }} {{ d|join }} {{ 'abc'|join('.') }}
=====
{{ 'abc'.isalpha() }} {{ 'a1'.isalpha() }} {{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ ' \t'.isspace() }} {{ ''.isspace() }} {{ 'AB1'.isupper() }} {{ 'ab1'.islower() }} {{ '1'.islower() }} {{ 'ABC'.isascii() }} {{ 'é'.isascii() }} {{ '12'.isdecimal() }} {{ 'é'.isalpha() }}
=====
{{ 'x'.center(5) }}|{{ 'x'.center(4, '*') }}|{{ 'ab'.center(5, '*') }}|{{ 'x'|center(6) }}|{{ 'x'.ljust(3) }}|{{ 'x'.rjust(3, '0') }}|{{ '-5'.zfill(5) }}|{{ 'abc'.zfill(2) }}|{{ '日'.center(4, '-') }}|
=====
{{ 'a\nb\r\nc\x0bd\u2028e'.splitlines() }} {{ 'a\n'.splitlines() }} {{ 'a\nb\n'.splitlines(true) }} {{ ''.splitlines() }} {{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }}
=====
{{ 'x'.append is defined }} {{ nums.append is defined }} {{ d.update is defined }} {{ d.pop is defined }} {{ nums.index(2) }} {{ nums.count(1) }} {{ t.strip is callable }} {{ d.copy() == d }}
=====
{{ '%s-%d-%5.1f|%-5s|%05d|%x|%X|%o|%%|%+d|%e|%g' % ('a', 3.9, 2.25, 'ab', 42, 255, 255, 8, 5, 12345.678, 0.00001234) }} {{ '%(a)s %(b)03d' % {'a': 1, 'b': 2} }} {{ '%r %s' % ('x', [1]) }} {{ '%s' % 'x' }} {{ '%5s|%.2s' % ('é', 'abc') }} {{ '%c%c' % (65, 'B') }} {{ '%g %g %g' % (1e10, 100000.0, 1.5) }} {{ '%i' % true }}
=====
{{ '{} {}'.format(1, 'a') }} {{ '{1}{0}'.format('a', 'b') }} {{ '{x}'.format(x=5) }} {{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }} {{ '{:05d} {:+} {:,} {:.2f} {:x} {:#x} {:b} {:e} {:%}'.format(42, 5, 1234567, 3.14159, 255, 255, 5, 12345.6, 0.25) }} {{ '{{}}'.format() }} {{ '{0[a]} {0[b]}'.format({'a': 1, 'b': 2}) }} {{ '{!r}'.format('x') }} {{ '{:.3}'.format('abcdef') }} {{ '{:{}}'.format('a', 4) }}|{{ '{:g} {:.3g} {}'.format(1.5, 1234.5, 2.0) }} {{ '{:d}'.format(true) }} {{ '{:6.2f}|{:<6}|{:=+6d}'.format(1.005, 12, 12) }}
=====
{{ '%s %s'|format('a', 1) }} {{ '%(x)s'|format(x='y') }} {{ '%.2f'|format(2.675) }} {{ '%d%%'|format(50) }}
=====
{{ words|sort }} {{ words|sort(case_sensitive=true) }} {{ words|sort(reverse=true) }} {{ nums|sort }} {{ people[:3]|sort(attribute='age')|map(attribute='name')|list }} {{ people[:3]|sort(attribute='age,name', reverse=true)|map(attribute='name')|list }} {{ 'cab'|sort }} {{ d|sort(case_sensitive=true) }}
=====
{{ nums|unique|list }} {{ words|unique|list }} {{ words|unique(case_sensitive=true)|list }} {{ people[:3]|unique(attribute='age')|map(attribute='name')|list }} {{ nums|min }} {{ nums|max }} {{ words|min }} {{ words|max }} {{ people[:3]|max(attribute='age') }} {{ []|min }}|{{ nums|sum }} {{ people[:3]|sum(attribute='age') }} {{ [1.5, 2]|sum }} {{ []|sum }} {{ [1]|sum(start=5) }} {{ [[1], [2]]|sum(start=[]) }}
=====
{{ nums|first }} {{ nums|last }} {{ t|first }}{{ t|last }} {{ []|first }}|{{ d|first }} {{ nums|length }} {{ t|length }} {{ u|length }} {{ d|count }} {{ missing|length }} {{ t|reverse }} {{ nums|reverse|list }} {{ u|reverse }} {{ t|list|length }} {{ (1, 2)|list }} {{ d|list }}
=====
{{ people|map(attribute='name')|join(',') }} {{ people|map(attribute='age', default=0)|list }} {{ people[:3]|map(attribute='city.n')|list }} {{ words|map('upper')|list }} {{ words|map('replace', 'a', '4')|list }} {{ [[1, 2], [3]]|map('first')|list }} {{ [' a ']|map('trim')|list }} {{ nums|map('string')|join }} {{ [[1, 2], [3, 4]]|map(attribute=1)|list }} {{ people|map(attribute='age')|list }}
=====
{{ nums|select('odd')|list }} {{ nums|reject('gt', 1)|list }} {{ [0, 1, '', 'a', none]|select|list }} {{ [0, 1, none]|reject|list }} {{ people|selectattr('age')|map(attribute='name')|list }} {{ people|selectattr('age', 'defined')|selectattr('age', 'equalto', 30)|map(attribute='name')|list }} {{ people|rejectattr('age')|map(attribute='name')|list }} {{ messages|selectattr('role', 'eq', 'user')|list|length }} {{ messages|selectattr('role', 'in', ['user', 'tool'])|map(attribute='role')|list }} {{ words|select('in', ['fig'])|list }} {{ nums|select('>=', 2)|list }} {{ nums|select('divisibleby', 3)|list }}
=====
{% for city, group in people[:3]|groupby('city.n') %}{{ city }}:{{ group|map(attribute='name')|join(',') }};{% endfor %}{% for g in people[:3]|groupby('age') %}{{ g.grouper }}{{ g.list|length }}{{ g[0] }} {% endfor %}{{ people|groupby('age', default=0)|map('first')|list }} {{ [{'a': 1}]|groupby('a') }}
=====
{{ d|dictsort }} {{ {'b': 1, 'A': 2}|dictsort(true) }} {{ {'b': 1, 'a': 2}|dictsort(by='value') }} {{ {'b': 1, 'a': 2}|dictsort(reverse=true) }} {{ d|items|list }} {{ missing|items|list }}
=====
{{ range(7)|batch(3)|list }} {{ range(7)|batch(3, 'x')|list }} {{ range(7)|slice(3)|list }} {{ range(7)|slice(3, 'x')|list }} {{ [1]|slice(3)|list }} {{ []|batch(2)|list }}
=====
{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 42.55|round(1, 'floor') }} {{ 42.51|round(1, 'ceil') }} {{ 1234.5|round(-2) }} {{ 7|round }} {{ 7|round(1) }} {{ -2.5|round }} {{ 0.5|round|int }} {{ 1e20|round(2) }} {{ 15|round(-1) }} {{ 42|round(0, 'ceil') }}
=====
{{ -5|abs }} {{ (-5)|abs }} {{ 2.5|int }} {{ '42'|int }} {{ ' 42 '|int }} {{ '4x'|int }} {{ '4x'|int(9) }} {{ '3.9'|int }} {{ '1e2'|int }} {{ 'ff'|int(0, 16) }} {{ '0xff'|int(0, 16) }} {{ none|int }} {{ true|int }} {{ -2.7|int }} {{ '1_000'|int }} {{ '-7'|int }} {{ '+7'|int }} {{ [1]|int(3) }} {{ '99999999999999999999'|int }}
=====
{{ '1.5'|float }} {{ 'x'|float }} {{ 'x'|float(2) }} {{ 3|float }} {{ '1e3'|float }} {{ ' .5 '|float }} {{ 'inf'|float }} {{ '-inf'|float }} {{ 'nan'|float }} {{ none|float }} {{ '1_0.5'|float }} {{ '5.'|float }}
=====
{{ 5|string + 'x' }} {{ none|string }} {{ [1]|string|length }} {{ missing|string }}| {{ 1.0|string }}
=====
{{ missing|default('x') }} {{ none|default('x') }} {{ none|default('x', true) }} {{ ''|d('y', boolean=true) }} {{ 0|default(5) }} {{ missing|default }}| {{ d.q.z|default('deep') if false else '-' }} {{ (d.q)|default({'z': 1}) }}
=====
{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent(2, blank=true) }}|{{ 'a\nb'|indent('> ') }}|{{ 'a\nb\n'|indent(1) }}|{{ lines|indent(width=3, first=true) }}
=====
{{ 'foo bar baz qux'|truncate(9) }} {{ 'foo bar baz qux'|truncate(9, true) }} {{ 'foo bar baz qux'|truncate(11) }} {{ 'foo bar baz qux'|truncate(11, false, '..', 0) }} {{ 'foobarbazquxquux'|truncate(5, leeway=0) }} {{ 'one two-three, 4'|wordcount }} {{ 'é ü_1'|wordcount }}
=====
{{ 'a b/c?d=é&f'|urlencode }} {{ {'a': 1, 'b c': 'd e/'}|urlencode }} {{ [('x', 'y&')]|urlencode }} {{ 5|urlencode }}
=====
{{ '<a href="x">\'&'|e }} {{ '<'|e|e }} {{ '<'|forceescape|forceescape }} {{ '<b>'|safe }} {{ ('<b>'|safe) + '<i>' }} {{ '<i>' + ('<b>'|safe) }} {{ ['<'|e] }} {{ '<'|safe|e }} {{ ('<'|safe) ~ '<' }} {{ ('<'|e) is escaped }} {{ '<'|e|upper }}
=====
{{ d|tojson }} {{ none|tojson }} {{ [1, 2.0, 1e20, 1e-7, true, none, 'é"\\\n\x01/']|tojson }} {{ u|tojson(ensure_ascii=true) }} {{ ctl|tojson }} {{ ctl|tojson(ensure_ascii=true) }} {{ (1, 2)|tojson }} {{ {}|tojson }} {{ []|tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }}
=====
{{ messages|tojson(indent=2) }}
{{ tools|tojson(indent=4, sort_keys=true) }} {{ d|tojson(separators=(',', ':')) }} {{ [1, [], {}, {'a': []}]|tojson(indent=1) }} {{ [1, {'a': 2}]|tojson(indent='--') }} {{ [1]|tojson(indent=0) }} {{ d|tojson(indent=2, separators=('; ', ' = ')) }} {{ 'inf'|float|tojson }} {{ big|tojson }}
=====
{% for m in messages %}{{ m|tojson }}
{% endfor %}
=====
{{ n is odd }} {{ n is even }} {{ n is divisibleby(7) }} {{ n is divisibleby 2 }} {{ n is number }} {{ yes is number }} {{ yes is integer }} {{ yes is boolean }} {{ f is float }} {{ t is string }} {{ t is sequence }} {{ d is sequence }} {{ d is mapping }} {{ nums is iterable }} {{ n is iterable }} {{ none is none }} {{ missing is none }} {{ none is defined }} {{ n is not string }} {{ d.items() is sequence }} {{ d.items() is iterable }} {{ range(3) is sequence }} {{ missing is sequence }} {{ missing is iterable }} {{ none is iterable }}
=====
{{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 2 is ge 2 }} {{ 1 is le 0 }} {{ 3 is gt(2) }} {{ 'a' is in 'abc' }} {{ 1 is in [1] }} {{ none is sameas none }} {{ true is sameas true }} {{ 1 is sameas 1 }} {{ 'AB' is upper }} {{ 'ab' is lower }} {{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }} {{ range is callable }} {{ t is callable }} {{ 1 is true }} {{ true is true }} {{ false is false }} {{ 0 is false }} {{ 'x' is not in 'abc' }}
=====
{{ n is defined and n > 3 }} {{ missing is defined or n }} {{ missing is not defined and n is number }} {{ 'y' if missing is defined else 'n' }} {{ not missing is defined }} {{ n is number == true }}
=====
{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% endif %}{{ bos_token }}{% for message in loop_messages %}{% if loop.index0 == 0 and system is defined %}<<SYS>>{{ system }}<</SYS>>{% endif %}{{ message.role }}{% if message.content is string %}:{{ message.content | trim }}{% elif message.content is iterable and message.content is not none %}{% for part in message.content %}{% if part.type == 'text' %}+{{ part.text }}{% endif %}{% endfor %}{% endif %}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}A:{% endif %}
=====
{%- macro render(spec) -%}
    {%- if spec.type == 'object' -%}
        { {%- for k, v in spec.properties|dictsort %}{{ k }}: {{ render(v) }}{{ ', ' if not loop.last }}{% endfor -%} }
    {%- elif spec.enum is defined -%}
        {{ spec.enum|join(' | ') }}
    {%- else -%}
        {{ spec.type }}
    {%- endif -%}
{%- endmacro -%}
{%- for tool in tools -%}
type {{ tool.function.name }} = ({{ render(tool.function.parameters) }}) => any; // {{ tool.function.description }}
{% endfor -%}
=====
{% set ns = namespace(last=-1) %}{% for m in messages[::-1] %}{% set i = (messages|length - 1) - loop.index0 %}{% if ns.last < 0 and m.role == 'user' and m.content is string and not (m.content.startswith('<tool_response>') and m.content.endswith('</tool_response>')) %}{% set ns.last = i %}{% endif %}{% endfor %}{{ ns.last }}
=====
{{ strftime_now('%Y-%m-%d %H:%M:%S %A %a %B %b %j %y %I %p %e|%d %m|%-d|%U|%W|%V|%u|%w|%%|%F|%T|%D|%H:%M|%c|%x|%X|%G|%h') }}
=====
{{ raise_exception('no ' ~ n) }}
=====
{% if missing.x %}a{% endif %}
=====
{{ missing() }}
=====
{{ d.nope() }}
=====
{{ missing + 1 }}
=====
{{ 1 + 'a' }}
=====
{{ 'a' + 1 }}
=====
{{ missing < 1 }}
=====
{{ 1 < 'a' }}
=====
{{ 1 // 0 }}
=====
{{ 1.0 % 0 }}
=====
{{ none|length }}
=====
{{ 5|length }}
=====
{{ none.x.y }}
=====
{{ none() }}
=====
{{ nums.append(1) }}
=====
{{ d.update({'a': 1}) }}
=====
{{ ''.__class__.__mro__ }}
=====
{{ range(1000000) }}
=====
{{ {[1]: 2} }}
=====
{{ missing|tojson }}
=====
{{ '%d' % 'x' }}
=====
{{ '%s %s' % 'x' }}
=====
{{ '%s' % ('x', 'y') }}
=====
{{ '{}'.format() }}
=====
{{ 'x'.split('') }}
=====
{{ [1, 'a']|sort }}
=====
{{ ['a']|sum }}
=====
{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}
=====
{% macro f(a) %}{% endmacro %}{{ f(b=2) }}
=====
{% set a, b = [1] %}
=====
{% set a, b = [1, 2, 3] %}
=====
{% set n.x = 1 %}
=====
{{ nums|map('nope')|list }}
=====
{{ nums|nope }}
=====
{{ n is nope }}
=====
{% nope %}
=====
{% for i in nums %}
=====
{% if yes %}{% endfor %}
=====
{{ (1 }}
=====
{{ 1 }
=====
{{ 'abc }}
=====
{{ 1 + }}
=====
{# open
=====
{% raw %} open
=====
{{ [1, 2 }}
=====
{{ a b }}
=====
{% set 1 = 2 %}
=====
{{ x is }}
=====
{{ f(a=1, 2) }}
=====
{% break %}
=====
{{ n ? 1 : 2 }}
=====
{{ t[1:2:0] }}
=====
{{ nums|first(1) }}
=====
{% call n() %}{% endcall %}
=====
{{ nums|map('upper')|length }}
=====
{% set g = nums|map('string') %}{{ g|list }}{{ g|list }}{{ 'T' if g }}{{ 'T' if nums|select('gt', 9) }}{% set h = nums|map('abs') %}{{ h|first }}{{ h|list }}
=====
{% for i in [1, 2] %}{% continue %}{% else %}E{% endfor %}{% for i in [1, 2] %}{% if i == 2 %}{% break %}{% endif %}{% else %}E{% endfor %}
=====
{% for i in nums %}{{ loop }}{% endfor %}{% for i in [[1, 2], [3]] recursive %}{{ loop(i) if i is iterable else i }}{% else %}-{% endfor %}
=====
{%- set ns = namespace(x=[]) -%}
{%- for m in messages -%}{%- set ns.x = ns.x + [m.role] -%}{%- endfor -%}
{{ ns.x | join(' > ') }}
=====
{{ 'a,b'.split(',')[0] }}{{ t.upper().lower()[:3] }}{{ words[0][1:].upper() }}{{ (words + ['z'])[-1] }}{{ [1, 2, 3][1:][0] }}{{ {'a': [1, {'b': 'c'}]}['a'][1].b }}
=====
{%- if tools is defined and tools -%}
  {%- set names = tools | map(attribute='function') | map(attribute='name') | list -%}
  Tools: {{ names | tojson }}
  {%+ for tool in tools %}
    - {{ tool.function.name }}: {{ tool.function.get('description', '') }} {{- "!" }}
  {% endfor %}
{%- endif %}
end
=====
line 1
    {%- if yes %}
    line 2
    {%- endif %}

	{% if yes %}	
	tabbed
	{% endif %} tail
   {# c #}   
{{ n }}   
  {{ n }}
=====
{% set content %}
  {% if yes %}
in
  {% endif %}
{% endset %}
[{{ content }}]
=====
{{ d.b is number and d.b > 1 and 'x' not in d }} {{ (d.b, d.a)|max }} {{ d['b' if yes else 'a'] }} {{ nums[n - 7] }} {{ messages[-1]['content'][0].text }} {{ messages[1:][0].role }}
=====
{{ u[1:-1] }} {{ '🙂é'|list }} {{ '🙂é'[::-1] }} {{ '日本'.find('本') }} {{ '日本語'[1:2] }} {{ '🙂'|length }} {{ '%s|%3s' % ('🙂', '日') }} {{ 'é' < 'ê' }} {{ '\u200b'.strip()|length }} {{ 'ÀB'|lower }} {{ 'ß'|upper }} {{ 'ǆ'|title }}
=====
{{ -3 % 5 }} {{ 3 % -5 }} {{ -3 // 5 }} {{ 3.5 // -2 }} {{ -3.5 % 2 }} {{ 1e300 * 1e10 }} {{ 10 ** 20 }} {{ 10 ** -2 }} {{ 2.0 ** 3 }} {{ 4 ** 0.5 }} {{ 0 ** 0 }} {{ (-8) ** 3 }} {{ 1 / 3 * 3 }} {{ 1e22 }} {{ 1e23 }} {{ 123456.789e3 }}
=====
{{ (0.1 + 0.7) * 10 }} {{ 2.5 is integer }} {{ 2.0 == 2 }} {{ 3 * 1.1 }} {{ 1.1 + 2.2 }} {{ 1e-5 }} {{ 12345678.9 }} {{ 100 / 3 }} {{ 1.0e10 }} {{ 9.999999999999999e15 }} {{ (2.5).is_integer() }}
=====
{{ 'a' 'b' ~ 'c' }}{{ (1, 2, 3)|last }}{{ {'a': 1}.a }}{{ [1, 2][1] }}{{ 'abc'[1] }}{{ ('x')|upper }}{{ -1|abs }}{{ 5 - 3|abs }}{{ 2 * 3 ~ 4 }}
=====
{{ 1 in [1] and 2 not in [1] }} {{ not 1 in [2] }} {{ 1 + 1 in [2] }} {{ 'a' ~ 'b' in 'cab' }} {{ (1, 2) == (1, 2) }} {{ [1, 2] == (1, 2) }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ none == false }} {{ '' == none }} {{ missing == none }} {{ missing == missing2 }}
=====
{% set x = {'a': {'b': {'c': 1}}} %}{{ x.a.b.c }}{{ x['a'].b['c'] }}{{ x }}{{ {'}}': '%}'} }}
=====
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- '<|user|>\n' + (message.content if message.content is string else '?') + '<|end|>\n' }}
    {%- elif message.tool_calls is defined and message.tool_calls %}
        {%- for call in message.tool_calls %}
            {{- '{"name": "' + call.function.name + '", "parameters": ' }}
            {{- call.function.arguments | tojson }}
            {{- "}" }}
        {%- endfor %}
    {%- endif %}
{%- endfor %}
"""


def main():
    cases = []
    for number, template in enumerate(TEMPLATES[1:-1].split("\n=====\n")):
        case = {"name": f"case_{number:03}", "template": template}
        try:
            case["output"] = environment().from_string(template).render(**CONTEXT)
        except Exception as error:  # any failure is a failure; its words are Python's
            case["error"] = f"{type(error).__name__}: {error}"
        cases.append(case)
    out = {"kind": "jinja", "jinja2": jinja2.__version__, "now": NOW, "context_json": json.dumps(CONTEXT), "cases": cases}
    path = pathlib.Path(__file__).with_name("cases.json")
    path.write_text(json.dumps(out, indent=1, ensure_ascii=True) + "\n")
    print(len(cases), "cases,", sum("error" in case for case in cases), "errors")


main()
