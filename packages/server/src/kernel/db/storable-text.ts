/** Whether PostgreSQL can hold a text as it is: it takes neither NUL nor half of a surrogate pair, which has no form in UTF-8. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** The text with U+FFFD in place of what cannot be held. */
export const toStorable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed();
