/**
 * Attributes with a meaning of their own (all strings; the numbers and flags of a profile are `lists.profile` in `fields.ts`).
 * Any other name is a custom attribute. For types and documentation: the validator treats known and custom strings alike.
 */
export const knownAttributes = {
  profile: [
    'profileFirstName',
    'profileLastName',
    'profileTimezone',
    'profileTier',
    'profileStatus',
    'profileJoinSource',
    'profileJoinDate',
    'profileCohort',
    'profileGender',
    'profileProvider',
    'profileAgeBand',
    'profileCountry',
    'profileCity',
    'profileState',
    'profilePostalCode',
  ],
  event: ['channel', 'ip', 'userAgent', 'deviceType', 'country', 'region', 'state', 'postalCode', 'city'],
} as const;
