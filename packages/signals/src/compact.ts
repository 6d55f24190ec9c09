/**
 * The catalogue as source text for the browser. Most methods are a verb and a noun (`startSurvey`, `survey/start`), so the families
 * are written once. Measured in the tracker's script: 60 bytes of gzip less than the table itself; coding the fields as well gained
 * nothing, because gzip does that.
 */
import { type Signal, type SignalMethod, signals } from './definitions.ts';
import * as fieldSets from './fields.ts';

const nameOfFields = ({ fields }: Signal): string =>
  Object.entries(fieldSets).find(([, set]) => (set as unknown) === fields)![0];

/**
 * A module that exports the same `signals` as `definitions.ts`, and stands in its place.
 *
 * @example
 * compactCatalogue(); // "import { … } from './fields.ts'; export const signals = {}; …"
 */
export const compactCatalogue = (): string => {
  const verbs = new Map<string, string[]>();
  const singles: string[] = [];
  for (const method of Object.keys(signals) as SignalMethod[]) {
    const signal: Signal = signals[method];
    const [, verb, noun] = /^([a-z]+)([A-Z]\w+)$/.exec(method) ?? [];
    if (noun && signal.wire === `${noun.toLowerCase()}/${verb}`) {
      const family = `${nameOfFields(signal)} ${noun}`;
      verbs.set(family, [...(verbs.get(family) ?? []), verb!]);
    } else singles.push(`single(${nameOfFields(signal)}, '${method}', '${signal.wire}');`);
  }
  const nouns = new Map<string, string[]>();
  for (const [family, list] of verbs) {
    const [set, noun] = family.split(' ') as [string, string];
    const key = `${set}|${list.join(' ')}`;
    nouns.set(key, [...(nouns.get(key) ?? []), noun]);
  }
  const families = [...nouns].map(([key, list]) => {
    const [set, verbList] = key.split('|') as [string, string];
    return `family(${set}, '${list.join(' ')}', '${verbList}');`;
  });
  return `import { ${[...new Set(Object.values(signals).map(nameOfFields))].join(', ')} } from './fields.ts';
export const signals = {};
const single = (fields, method, wire) => { signals[method] = { wire, fields }; };
const family = (fields, nouns, verbs) => {
  for (const noun of nouns.split(' ')) for (const verb of verbs.split(' ')) single(fields, verb + noun, (noun + '/' + verb).toLowerCase());
};
${families.join('\n')}
${singles.join('\n')}
`;
};
