import onceguard from './index.js';

export const { connect, keepRawBody, NotDone, TryLater, Refused, Unreachable } = onceguard;
export default onceguard;
