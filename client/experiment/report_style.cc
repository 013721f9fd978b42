#include "client/experiment/report_style.h"

namespace sbump {

const std::string_view kReportStyle = R"(
:root { color-scheme: light dark;
  --page: #ffffff; --card: #f6f7f9; --text: #1b1f24; --faint: #57606a; --line: #d0d7de;
  --s0: #0072b2; --s1: #b35900; --s2: #00795a; --s3: #a03a78; --s4: #6b5b00; --s5: #4b5563;
  --good: #00694e; --bad: #b3261e; --warn: #8a5a00; --band: #00000009; }
@media (prefers-color-scheme: dark) { :root {
  --page: #101418; --card: #181d23; --text: #e6eaef; --faint: #9aa5b1; --line: #38424d;
  --s0: #6cb8ef; --s1: #f0a04b; --s2: #45c9a0; --s3: #e59ac8; --s4: #e8d44d; --s5: #b6c0cb;
  --good: #57d3ab; --bad: #ff8a80; --warn: #f0b95b; --band: #ffffff0d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem; max-width: 66rem; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 0 0 .4rem; } main > h3 { margin-top: 1.4rem; }
p { margin: .4rem 0; }
h1, h2, h3, p, td, li, strong, code { overflow-wrap: anywhere; }
.faint { color: var(--faint); font-size: .88rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .9rem 1rem; margin: .9rem 0; break-inside: avoid; }
.alarm { border-left: .35rem solid var(--bad); }
.notice { border-left: .35rem solid var(--warn); }
.verdict { display: inline-block; padding: 0 .55em; border: 1.5px solid; border-radius: 1em;
  font-size: .85rem; font-weight: 600; white-space: nowrap; }
.verdict.matters { color: var(--good); } .verdict.not { color: var(--faint); }
.verdict.undecided { color: var(--warn); border-style: dashed; }
.verdict.invalid { color: var(--bad); border-style: double; border-width: 3px; }
ul.answers { list-style: none; padding: 0; margin: .8rem 0; }
ul.answers li { margin: .5rem 0; }
.ranked { display: grid; grid-template-columns: minmax(9rem, 16rem) 1fr max-content;
  column-gap: 1rem; row-gap: .35rem; align-items: center; }
.who { display: flex; flex-wrap: wrap; gap: .1rem .6rem; align-items: baseline; }
.who strong { max-height: 4.6em; overflow: hidden; } .who.part { padding-left: 1.1rem; }
.figures { font-variant-numeric: tabular-nums; font-size: .92rem; }
svg { overflow: visible; display: block; }
svg text { fill: var(--faint); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
svg.area { width: 100%; } svg.numbers { width: 3.4rem; flex: none; }
.bar { padding: 0 .8rem; min-width: 0; }
.plot { display: flex; gap: .5rem; padding-right: 1.2rem; margin-top: .2rem; }
.plot svg.area { flex: 1; min-width: 0; }
.strip { padding-top: 1.5rem; }
.y-title { margin: .5rem 0 .45rem; } .x-title { text-align: center; margin: 0; }
.y-title, .x-title { color: var(--faint); font-size: .85rem; }
.mark { fill: currentColor; stroke: currentColor; stroke-width: 1px; fill-opacity: .55; }
.mark.hollow { fill: var(--page); fill-opacity: .4; stroke-width: 1.4px; }
.mark.grey { color: var(--faint); }
.s0 { color: var(--s0); } .s1 { color: var(--s1); } .s2 { color: var(--s2); }
.s3 { color: var(--s3); } .s4 { color: var(--s4); } .s5 { color: var(--s5); }
.grid { stroke: var(--line); stroke-width: 1px; } .axis { stroke: var(--faint); }
.zero { stroke: var(--faint); } .one { stroke: var(--faint); stroke-dasharray: 1 4; }
.margin, .band { fill: var(--band); } .margin { fill: var(--faint); fill-opacity: .16; }
.interval { stroke: var(--s3); stroke-width: 2px; fill: none; }
.interval.wide { stroke: var(--s0); stroke-width: 4px; stroke-opacity: .55; stroke-linecap: round; }
.fit { stroke: var(--s0); stroke-width: 2px; }
.fit.edge { stroke-width: 1px; stroke-dasharray: 6 4; }
.flaw { stroke: var(--bad); stroke-width: 1.8px; fill: none; }
.keys { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; color: var(--faint); font-size: .88rem; }
.keys span { display: inline-flex; gap: .35rem; align-items: center; }
.scroll { overflow-x: auto; }
table + .scroll { margin-top: 1rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
.scroll th, .scroll td { white-space: nowrap; overflow-wrap: normal; }
.scroll td.long { white-space: normal; min-width: 12rem; }
table.facts th { color: var(--faint); font-weight: 500; white-space: nowrap; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  padding: .7rem .9rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .9rem; }
summary { cursor: pointer; }
@media (max-width: 44rem) {
  body { padding: .8rem; }
  .ranked { grid-template-columns: 1fr; }
  .ranked .figures { margin-bottom: .7rem; }
  table.facts th { white-space: normal; } }
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  .strip { min-width: 0 !important; } .scroll { overflow: visible; } }
)";

}  // namespace sbump
