import { Button, Center, Container, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { IconMovieOff } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { fetchStatus } from '../data/api-client.ts';
import { ErrorAlert } from './error-alert.tsx';
import { EmptyState } from './page.tsx';

/**
 * Replaces a page that failed. A page whose code could not be loaded waits for the service; other errors offer a retry.
 */
export function PageError({ error, reset }: ErrorComponentProps) {
  return (
    <Container size="sm" py="xl">
      {isPageLoadError(error) ? <Reconnecting /> : <ErrorAlert error={error} retry={reset} />}
    </Container>
  );
}

const RETRY_MS = 2_000;

/** Polls the service every two seconds and reloads the page once it responds, because a new release has other files. */
function Reconnecting() {
  const { t } = useTranslation();
  const { isSuccess } = useQuery({
    queryKey: ['reconnecting'],
    queryFn: fetchStatus,
    gcTime: 0,
    refetchInterval: RETRY_MS,
  });
  useEffect(() => {
    if (isSuccess) location.reload();
  }, [isSuccess]);
  return (
    <Center py={56} role="status">
      <Stack align="center" gap="sm" maw={420}>
        <Loader type="dots" />
        <Title order={1}>{t('reconnecting')}</Title>
        <Text c="dimmed" size="sm" ta="center">
          {t('reconnectingText')}
        </Text>
      </Stack>
    </Center>
  );
}

/** Code or texts of a page could not be loaded. */
class PageLoadError extends Error {
  constructor(cause: unknown) {
    super('the page could not be loaded', { cause });
    this.name = 'PageLoadError';
  }
}

const isPageLoadError = (error: unknown): boolean => error instanceof PageLoadError;

/**
 * Loads the code of a page. Failures are wrapped in PageLoadError, because the router would reload the page on the
 * original error.
 */
export async function loadPage<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    throw new PageLoadError(error);
  }
}

/** Page for an unknown URL. */
export function NotFound() {
  const { t } = useTranslation();
  return (
    <EmptyState
      icon={<IconMovieOff size={28} />}
      order={1}
      title={t('notFound.title')}
      action={
        <Group justify="center">
          <Button renderRoot={(props) => <Link to="/studio" {...props} />}>{t('notFound.action')}</Button>
          <Button component="a" href="/docs" variant="default">
            {t('pages.apiGuide')}
          </Button>
        </Group>
      }
    >
      {t('notFound.text')}
    </EmptyState>
  );
}
