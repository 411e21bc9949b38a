import { Box, Button, Center, Container, Group, Loader, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { IconMovieOff } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { WIDTHS } from '../../design/tokens.ts';
import { fetchStatus } from '../data/api-client.ts';
import { useSiteName } from '../data/self.ts';
import { ErrorAlert } from './error-alert.tsx';

interface PageProps {
  readonly title: string;
  /** Title of the browser tab, if the heading does not name the object. */
  readonly tabTitle?: string;
  /** One sentence on the purpose of the page. */
  readonly subtitle?: ReactNode;
  readonly actions?: ReactNode;
  /** Widest for lists and media (default), narrower for reading and for forms. */
  readonly size?: keyof typeof WIDTHS;
  readonly children: ReactNode;
}

/** Frame of every page: title, subtitle and actions. All page widths share the same left edge. */
export function Page({ title, tabTitle = title, subtitle, actions, size = 'lg', children }: PageProps) {
  const siteName = useSiteName();
  const heading = useFocusAfterNavigation();
  useEffect(() => {
    document.title = `${tabTitle} · ${siteName}`;
  }, [tabTitle, siteName]);
  return (
    <Box maw={WIDTHS[size]} className="page">
      <Group justify="space-between" align="flex-start" mb="lg" gap="sm">
        <Box maw={680}>
          <Title order={1} ref={heading} tabIndex={-1} style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {subtitle === undefined ? null : (
            <Text c="dimmed" size="sm" mt={4}>
              {subtitle}
            </Text>
          )}
        </Box>
        {actions === undefined ? null : (
          <Group gap="xs" className="page-actions">
            {actions}
          </Group>
        )}
      </Group>
      {children}
    </Box>
  );
}

let hasShownPage = false;

/**
 * Moves the focus to the heading of a page opened within the console, past the menu; a field or dialog that already has
 * the focus keeps it.
 */
function useFocusAfterNavigation() {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const isTaken = document.activeElement?.closest('input, textarea, [role=dialog]') != null;
    if (hasShownPage && !isTaken) heading.current?.focus({ preventScroll: true });
    hasShownPage = true;
  }, []);
  return heading;
}

/** Shown while a page loads. */
export function PageLoadingIndicator() {
  return (
    <Center h="60vh" role="status" aria-label="…">
      <Loader type="dots" />
    </Center>
  );
}

/** Shown for an empty list: its purpose, and how to create the first item. */
export function EmptyState({
  icon,
  title,
  children,
  action,
  order = 2,
}: {
  readonly icon: ReactNode;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  /** Level of the heading; 1 if the page has no other heading. */
  readonly order?: 1 | 2;
}) {
  return (
    <Center py={56} px="md">
      <Stack align="center" gap="sm" maw={420}>
        <ThemeIcon size={56} radius="xl" variant="light" color="gray">
          {icon}
        </ThemeIcon>
        <Title order={order} ta="center">
          {title}
        </Title>
        {children === undefined ? null : (
          <Text c="dimmed" size="sm" ta="center">
            {children}
          </Text>
        )}
        {action === undefined ? null : <div className="empty-action">{action}</div>}
      </Stack>
    </Center>
  );
}

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

/**
 * Polls the service every two seconds and reloads the page once it responds, because a new release has other files. If
 * that has not helped, something keeps the file from this browser, such as an extension: reloading would never end.
 */
function Reconnecting() {
  const { t } = useTranslation();
  const { isSuccess } = useQuery({
    queryKey: ['reconnecting'],
    queryFn: fetchStatus,
    gcTime: 0,
    refetchInterval: RETRY_MS,
  });
  const [mayHelp] = useState(() => !wasJustReloaded());
  useEffect(() => {
    if (isSuccess && mayHelp) location.reload();
  }, [isSuccess, mayHelp]);
  if (isSuccess && !mayHelp) return <ErrorAlert error={new Error(t('filesMissing'))} retry={() => location.reload()} />;
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

const wasJustReloaded = (): boolean =>
  performance.now() < 10_000 &&
  performance.getEntriesByType('navigation').some((entry) => (entry as PerformanceNavigationTiming).type === 'reload');

/** Code or texts of a page could not be loaded. */
class PageLoadError extends Error {
  constructor(cause: unknown) {
    super('the page could not be loaded', { cause });
    this.name = 'PageLoadError';
  }
}

/** Menus and dialogs are loaded without `loadPage`: browsers tell by the message alone that a script is missing. */
const isPageLoadError = (error: unknown): boolean =>
  error instanceof PageLoadError || (error instanceof TypeError && /\bimport(ed|ing)\b/i.test(error.message));

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
