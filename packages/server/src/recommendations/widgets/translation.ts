/** Which language a text has: texts are chosen like the fields of items (D11), `nl-be` before `nl` before the default. Pure rules. */
import { type CatalogRecord, LANGUAGE_RULE, languageKey, viewOf } from '../../catalog/index.ts';
import type { Violation } from '../../kernel/errors.ts';
import { isObject } from '../../kernel/is-object.ts';

/** A text in the default language, or texts by language. */
export type Translatable = string | Record<string, string>;

export interface Translation {
  text: string;
  language: string;
}

/** The languages that may be chosen: the one that was asked for, and the default one. Both as `languageKey` gives them. */
export interface Choice {
  language: string;
  /** Empty where the organization has none. */
  defaultLanguage: string;
}

/** Language of what is said in none. */
const unsaid = ({ language, defaultLanguage }: Choice) => defaultLanguage || language;

/**
 * The text in the best language that there is.
 *
 * @example translationOf({ nl: 'Ook leuk', en: 'See also' }, { language: 'nl-be', defaultLanguage: 'en' }) // Ook leuk, nl
 */
export function translationOf(
  given: Translatable | null | undefined,
  choice: Choice,
): Translation | undefined {
  if (!given) return undefined;
  if (typeof given === 'string') return { text: given, language: unsaid(choice) };
  const language = bestOf(Object.keys(given), choice);
  const text = language === undefined ? undefined : given[language];
  return text ? { text, language: language! } : undefined;
}

/** The language of the title that the view of an item has. */
export function titleLanguageOf(
  { languages, countries }: CatalogRecord,
  { country, ...choice }: Choice & { country: string | undefined },
): string {
  // A country's own title stands above all languages, and names none.
  if (country !== undefined && countries[country] && 'title' in countries[country]) return unsaid(choice);
  const titled = Object.keys(languages).filter((tag) => 'title' in languages[tag]!);
  return bestOf(titled, choice) ?? unsaid(choice);
}

/** By the very rule that chooses the fields of items. */
function bestOf(tags: readonly string[], { language, defaultLanguage }: Choice): string | undefined {
  const languages = Object.fromEntries(tags.map((tag) => [tag, { tag }]));
  const item = { itemPid: '', itemUrl: '', available: true, fields: {}, languages, countries: {} };
  return viewOf(item, [language, defaultLanguage]).tag as string | undefined;
}

/** With languages in their canonical case. */
export function canonicalTexts<T extends Translatable | null | undefined>(given: T): T {
  if (!isObject(given)) return given;
  return Object.fromEntries(Object.entries(given).map(([tag, text]) => [languageKey(tag) ?? tag, text])) as T;
}

export function translationViolations(given: unknown, member: string): Violation[] {
  const seen = new Set<string>();
  return Object.keys(isObject(given) ? given : {}).flatMap((tag) => {
    const key = languageKey(tag);
    if (key === null) return [{ member: `${member}.${tag}`, message: LANGUAGE_RULE }];
    if (seen.has(key))
      return [{ member: `${member}.${tag}`, message: 'is there twice, in another spelling' }];
    seen.add(key);
    return [];
  });
}
