import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createInterface } from 'node:readline';
import { afterEach, describe, it } from 'node:test';
import { SmtpError, SmtpSender } from './mail-queue.ts';

const MAIL = { messageId: '<1@reelgate.example>', to: 'ada@example.org', subject: 'Hello', text: 'Hello' };

/** An SMTP server that refuses one command. */
async function startSmtpServer(refused: string, reply: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.write('220 mail.example ESMTP\r\n');
    createInterface(socket).on('line', (line) => {
      if (line.startsWith(refused)) socket.write(`${reply}\r\n`);
      else if (line.startsWith('DATA')) socket.write('354 go on\r\n');
      else if (/^(EHLO|MAIL|RCPT|\.$)/.test(line)) socket.write('250 mail.example\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

describe('a mail that the SMTP server refuses', () => {
  let server: Server;
  let sender: SmtpSender;
  afterEach(() => {
    sender.close();
    server.close();
  });

  for (const [refused, reply, permanent] of [
    ['MAIL', '553 5.7.1 Sender address rejected: not owned by user', false],
    ['MAIL', '530 5.7.0 Authentication required', false],
    ['RCPT', '550 5.1.1 User unknown', true],
    ['RCPT', '450 4.2.1 Mailbox busy', false],
    ['.', '554 5.7.1 Message refused', true],
  ] as const)
    it(`is ${permanent ? 'dropped' : 'tried again'} after ${reply}`, async () => {
      server = await startSmtpServer(refused, reply);
      const { port } = server.address() as AddressInfo;
      sender = new SmtpSender({ url: `smtp://127.0.0.1:${port}`, from: 'service@reelgate.example' });
      await assert.rejects(
        () => sender.send(MAIL),
        (error) => error instanceof SmtpError && error.permanent === permanent && error.message.includes(reply),
      );
    });
});
