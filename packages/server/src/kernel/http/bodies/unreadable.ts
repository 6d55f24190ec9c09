/**
 * What cannot be read as a request at all. It has no path to choose a shape by, or none that can be trusted, so it is answered
 * as unknown paths are (D3). Fastify's own answer has a shape of its own.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS } from '../../errors.ts';

const ANSWERS: Record<string, { status: number; message: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: ERRORS.timeout.title },
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The headers are too large' },
};
const NO_REQUEST = { status: 400, message: 'This is not a request that can be read' };

/** For `clientErrorHandler` of Fastify. */
export function refuseUnreadable(error: { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const { status, message } = ANSWERS[error.code ?? ''] ?? NO_REQUEST;
  const body = JSON.stringify({ message });
  if (socket.writable)
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n` +
        `Content-Type: application/json; charset=utf-8\r\n\r\n${body}`,
    );
  socket.destroy();
}
