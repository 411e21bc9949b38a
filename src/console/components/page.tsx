import { Box, Center, Group, Loader, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { WIDTHS } from '../../design/tokens.ts';
import { useSiteName } from '../data/self.ts';

interface PageProps {
  readonly title: string;
  /** Title of the browser tab, if the heading does not name the object. */
  readonly tabTitle?: string;
  /** One sentence on the purpose of the page. */
  readonly subtitle?: ReactNode;
  readonly actions?: ReactNode;
  readonly size?: 'sm' | 'md' | 'lg' | 'xl';
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
