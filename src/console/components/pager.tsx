import { ActionIcon, Group, Text } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';

interface PagerProps {
  readonly page: number;
  readonly total: number;
  readonly pageSize: number;
  /** Cursor of the next page, in a list longer than its `total`. */
  readonly next?: string | null;
  /** @param after cursor of a page beyond the total */
  readonly onChange: (page: number, after?: string) => void;
}

/** Page navigation of a list; renders nothing if one page is enough. */
export function Pager({ page, total, pageSize, next, onChange }: PagerProps) {
  const { t } = useTranslation();
  const pages = Math.max(1, Math.ceil(total / pageSize));
  if (pages === 1) return null;
  const isLast = page >= pages;
  const isLonger = isLast && typeof next === 'string';
  const goBack = () => (page > pages + 1 ? window.history.back() : onChange(page - 1));
  const goOn = () => (isLonger ? onChange(page + 1, next) : onChange(page + 1));
  return (
    <Group justify="flex-end" gap="xs" mt="md">
      <Text size="sm" c="dimmed">
        {t('page', { page, pages: isLonger || page > pages ? `${pages}+` : pages })}
      </Text>
      <ActionIcon variant="default" aria-label={t('previous')} disabled={page <= 1} onClick={goBack}>
        <IconChevronLeft size={16} />
      </ActionIcon>
      <ActionIcon variant="default" aria-label={t('next')} disabled={isLast && !isLonger} onClick={goOn}>
        <IconChevronRight size={16} />
      </ActionIcon>
    </Group>
  );
}
