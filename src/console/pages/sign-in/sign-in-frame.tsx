import { Anchor, Box, Center, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { LanguageAndThemeMenus } from '../../components/menus.tsx';
import { useSiteName, useStatus } from '../../data/self.ts';

/** Frame of the pages for signed-out users. */
export function SignInFrame({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const { t } = useTranslation();
  const siteName = useSiteName();
  const { data: status } = useStatus();
  useEffect(() => {
    document.title = `${title} · ${siteName}`;
  }, [title, siteName]);
  return (
    <Box mih="100dvh" p="md" component="main">
      <Group justify="flex-end" gap={4}>
        <LanguageAndThemeMenus />
      </Group>
      <Center pt={{ base: 16, sm: 64 }}>
        <Stack w="100%" maw={400} gap="lg">
          <Group gap="sm">
            <img src="/logo" width={40} height={40} alt="" />
            <Text fw={700} fz={22} lts="-0.02em">
              {siteName}
            </Text>
          </Group>
          <Paper withBorder p={{ base: 'lg', sm: 'xl' }}>
            <Title order={1} mb="lg">
              {title}
            </Title>
            {children}
          </Paper>
          {status?.status_page === true ? (
            <Anchor href="/status" size="sm" c="dimmed">
              {t('pages.serviceStatus')}
            </Anchor>
          ) : null}
        </Stack>
      </Center>
    </Box>
  );
}

/** Tokens by page path. Kept outside React, which drops a page's state if it suspends while first mounting. */
const taken = new Map<string, string>();

/**
 * Reads the token after `#` in the URL; empty without one. The token is removed from the URL, so that it does not stay
 * in the history.
 */
export function readLinkToken(): string {
  const { hash, pathname } = location;
  if (hash.length > 1) {
    taken.set(pathname, hash.slice(1));
    history.replaceState(history.state, '', pathname);
  }
  return taken.get(pathname) ?? '';
}
