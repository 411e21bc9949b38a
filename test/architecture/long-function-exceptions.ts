/** Functions of more than 80 lines, with the reason why each stays whole. */
export const LONG_FUNCTION_EXCEPTIONS: Readonly<Record<string, string>> = {
  'src/sandbox/mail/mailcow.ts#createMailcowSimulator': 'a table of routes over one state, a few lines each',
  'src/server/app.ts#makeApp': 'assembly, and the order in which everything starts and stops, in one place',
  'src/server/modules.ts#makeModules': 'assembly: one constructor after another, nothing is decided',
  'src/server/accounts/module.ts#makeAccounts': 'assembly: one constructor after another, nothing is decided',
  'src/server/mailbox/backends/mailcow.ts#createMailcowBackend':
    'one method for each call of the mail server, over one client',
  'src/cli/commands/tickets.ts#addTicketCommands': 'a list of commands with their options, one after another',
  'src/cli/commands/video.ts#addVideoCommands': 'a list of commands with their options, one after another',
};
