/** The rules of `promtool check metrics` that a text of figures breaks. */
const SUFFIXES = /_(?:count|sum|bucket)$/;
const TYPE_NAMES = /(?:^|_)(?:counter|gauge|histogram|summary)(?:_|$)/;
/** Prometheus wants seconds, bytes, ratios, meters, grams, joules, volts and amperes, and no abbreviations. */
const OTHER_UNITS =
  /(?:^|_)(?:(?:nano|micro|milli)seconds?|minutes?|hours?|days?|weeks?|[nmu]?s|secs?|(?:kilo|mega|giga|kibi|mebi|gibi)?bits?|(?:kilo|mega|giga|kibi|mebi|gibi)bytes?|[kmg]?b|percent)(?:_|$)/;

/** @example metricFaults('# HELP a Help\n# TYPE a counter\n') // ['a: a counter ends in _total'] */
export function metricFaults(text: string): string[] {
  const faults: string[] = [];
  const types = new Map<string, string>();
  const helps = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (kind === 'TYPE' && types.has(name)) faults.push(`${name}: described twice`);
    if (kind === 'TYPE') types.set(name, rest);
    if (kind === 'HELP') helps.set(name, rest.trim());
  }
  for (const [name, type] of types) {
    const hasParts = type === 'histogram' || type === 'summary';
    const fault = (isBroken: boolean, rule: string) => {
      if (isBroken) faults.push(`${name}: ${rule}`);
    };
    fault(!helps.get(name), 'no help text');
    fault(type === 'counter' && !name.endsWith('_total'), 'a counter ends in _total');
    fault(type !== 'counter' && name.endsWith('_total'), 'only a counter ends in _total');
    fault(
      !hasParts && SUFFIXES.test(name),
      'only histograms and summaries have the suffixes _count, _sum and _bucket',
    );
    fault(TYPE_NAMES.test(name), 'the name repeats a type');
    fault(OTHER_UNITS.test(name), 'not a base unit');
    fault(!/^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/.test(name), 'not in snake case');
  }
  const sampled = [...text.matchAll(/^([a-zA-Z_:][\w:]*)[{ ]/gm)].map(([, name]) => name!);
  for (const name of new Set(sampled))
    if (!types.has(name) && !types.has(name.replace(SUFFIXES, ''))) faults.push(`${name}: no type`);
  return faults;
}
