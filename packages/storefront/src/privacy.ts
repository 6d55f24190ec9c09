/** Whether anything may be collected or stored. A refusal in the browser (DNT, GPC) stands above what the site asks for. */
interface Preferences {
  doNotTrack?: string | null;
  globalPrivacyControl?: boolean;
}

/**
 * @example
 * refusesTracking({ globalPrivacyControl: true }); // true
 * refusesTracking({ doNotTrack: '0' }); // false
 */
export const refusesTracking = ({ doNotTrack, globalPrivacyControl }: Preferences): boolean =>
  doNotTrack === '1' || globalPrivacyControl === true;
