/** Events as modules write them, and how a module tells of the types that it publishes. */

/** What a module publishes. The engine adds the rest of the envelope. */
export interface NewEvent {
  type: string;
  source: string;
  subject?: string;
  /** Milliseconds since the epoch; now when absent. */
  time?: number;
  dataschema?: string;
  /** System id of the person that the event is about. It is erased with the person. */
  profile?: number;
  data: unknown;
}

/** An entry of the catalogue: what can be subscribed to, and what a test push sends. */
export interface EventType {
  type: string;
  description: string;
  /** False for types of the specification whose source is not part of this release. */
  available: boolean;
  example: NewEvent;
}
