import Type from 'typebox';
import { ResultEnvelope } from '../accounts/schemas.ts';
import { LOG_LEVELS } from './settings.ts';

export const ScriptPath = Type.Object({
  region: Type.String({ description: 'Region of the deployment', examples: ['eu'] }),
  account: Type.String({ description: 'Name of the tenant, or its customer id' }),
});

export const VersionPath = Type.Object({
  ...ScriptPath.properties,
  version: Type.String({ examples: ['0.1.0-3f2a91c04b'] }),
});

export const OrganizationPath = Type.Object({ organization: Type.String() });

const Options = Type.Object(
  {
    disableValidations: Type.Optional(Type.Boolean()),
    clientValidationEnabled: Type.Optional(Type.Boolean()),
    serverValidationEnabled: Type.Optional(Type.Boolean()),
    enableLogsToConsole: Type.Optional(Type.Boolean()),
    performSignInAlways: Type.Optional(Type.Boolean()),
    logLevel: Type.Optional(Type.Union(LOG_LEVELS.map((level) => Type.Literal(level)))),
  },
  { additionalProperties: false, description: 'As `Tracker.setOptions` takes them' },
);

export const SettingsBody = Type.Object(
  {
    host: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'Where signals are sent to; null for the origin of this deployment',
        examples: ['https://signals.shop.example'],
      }),
    ),
    options: Type.Optional(Options),
  },
  { additionalProperties: false },
);

const ScriptAddresses = Type.Object({
  url: Type.String({ description: 'Always the newest; may be kept for five minutes' }),
  versioned_url: Type.String({ description: 'Never changes; for use with `integrity`' }),
  integrity: Type.String({ examples: ['sha384-...'] }),
});

export const SdkAnswer = Type.Object({
  ...ResultEnvelope.properties,
  sdk: Type.Object({
    region: Type.String(),
    account: Type.String(),
    settings: Type.Object({ host: Type.Union([Type.String(), Type.Null()]), options: Options }),
    version: Type.String(),
    scripts: Type.Object({
      tracker: ScriptAddresses,
      stub: ScriptAddresses,
      site: Type.Union([ScriptAddresses, Type.Null()], {
        description: 'The site tag; null while there is no site universe that it could speak for',
      }),
    }),
    tag: Type.String({ description: 'What to put into a page' }),
  }),
});

export const ScriptText = { content: { 'text/javascript': Type.String() } };
