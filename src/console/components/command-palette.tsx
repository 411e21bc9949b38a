import { Box, Kbd, Modal, ScrollArea, Text, TextInput, useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type NavigateOptions, useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type RefObject, useEffect, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListUsers } from '../../contract/admin-accounts.ts';
import { listTasks } from '../../contract/admin-videos.ts';
import { listChannels } from '../../contract/channels.ts';
import { listQuery } from '../data/admin.ts';
import { apiKeysQuery } from '../data/keys.ts';
import { isAdmin, usableModelsQuery, useModelTitle, useSelf } from '../data/self.ts';
import { videosQuery } from '../data/videos.ts';
import type keyboardStrings from '../strings/en/keyboard.ts';
import { LANGUAGES, type Language } from '../strings/preferred-language.ts';
import { useReturnFocus } from './dialog.tsx';
import { switchLanguage, useSignOut } from './header-menus.tsx';
import { ADMIN_SECTIONS, OTHER_ADMIN_SECTIONS, USER_SECTIONS } from './navigation.tsx';
import { isComposing, withMod } from './shortcut-keys.ts';
import { CREATE_HASH } from './use-create-request.ts';

/**
 * Search over pages, actions, users, models and tasks, operable by keyboard alone (ARIA Authoring Practices: combobox
 * with a listbox).
 */
export default function CommandPalette({ onClose }: { readonly onClose: () => void }) {
  useReturnFocus();
  const { t } = useTranslation('keyboard');
  const admin = isAdmin(useSelf().data?.role);
  const [search, setSearch] = useState('');
  const [active, setActive] = useState(0);
  const groups = useCommandPaletteItems(search);
  const items = groups.flatMap((group) => group.items);
  const current = Math.min(active, items.length - 1);
  const listId = useId();
  const optionId = (index: number): string => `${listId}-${index}`;
  const list = useScrolledIntoView(optionId(current));
  const open = (item: CommandPaletteItem): void => {
    onClose();
    item.open();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const chosen = items[current];
    const step = isComposing(event) ? undefined : { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && items.length > 0) setActive((current + step + items.length) % items.length);
    else if (event.key === 'Enter' && !isComposing(event) && chosen !== undefined) open(chosen);
    else return;
    event.preventDefault();
  };
  let index = -1;
  return (
    <Modal.Root opened onClose={onClose} size="lg" yOffset="10dvh">
      <Modal.Overlay />
      <Modal.Content aria-label={t('palette.title')}>
        <TextInput
          data-autofocus
          variant="unstyled"
          size="md"
          px="md"
          leftSection={<IconSearch size={18} />}
          leftSectionWidth={28}
          placeholder={t(admin ? 'palette.placeholderAdmin' : 'palette.placeholder')}
          aria-label={t('palette.title')}
          role="combobox"
          aria-expanded={items.length > 0}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={items.length > 0 ? optionId(current) : undefined}
          value={search}
          onChange={(event) => {
            setSearch(event.currentTarget.value);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
        />
        <ScrollArea.Autosize mah="60dvh" className="palette-results">
          <div id={listId} role="listbox" aria-label={t('palette.title')} ref={list}>
            {groups.map((group) => (
              // biome-ignore lint/a11y/useSemanticElements: a fieldset is no group of options
              <div key={group.id} role="group" aria-label={t(`palette.groups.${group.id}`)}>
                <GroupTitle id={group.id} />
                {group.items.map((item) => {
                  index += 1;
                  const own = index;
                  return (
                    <PaletteOption
                      key={item.id}
                      id={optionId(own)}
                      item={item}
                      isActive={own === current}
                      onOpen={() => open(item)}
                      onPoint={() => setActive(own)}
                    />
                  );
                })}
              </div>
            ))}
          </div>
          {items.length === 0 ? <NothingFound search={search} /> : null}
        </ScrollArea.Autosize>
        <KeyHint />
      </Modal.Content>
    </Modal.Root>
  );
}

interface PaletteOptionProps {
  readonly id: string;
  readonly item: CommandPaletteItem;
  readonly isActive: boolean;
  readonly onOpen: () => void;
  readonly onPoint: () => void;
}

function PaletteOption({ id, item, isActive, onOpen, onPoint }: PaletteOptionProps) {
  return (
    <Box
      id={id}
      role="option"
      aria-selected={isActive}
      className="palette-option"
      onClick={onOpen}
      onMouseMove={onPoint}
    >
      <Text size="sm" truncate flex={1}>
        {item.label}
      </Text>
      <Text size="xs" c="dimmed" truncate maw="40%">
        {item.hint ?? ''}
      </Text>
    </Box>
  );
}

function NothingFound({ search }: { readonly search: string }) {
  const { t } = useTranslation('keyboard');
  return (
    <Text size="sm" c="dimmed" p="md" role="status">
      {t('palette.none', { search })}
    </Text>
  );
}

function KeyHint() {
  const { t } = useTranslation('keyboard');
  return (
    <Text size="xs" c="dimmed" px="md" py="xs" visibleFrom="sm">
      {t('palette.hint')} · <Kbd size="xs">{withMod('K')}</Kbd>
    </Text>
  );
}

function GroupTitle({ id }: { readonly id: CommandPaletteGroup['id'] }) {
  const { t } = useTranslation('keyboard');
  return (
    <Text size="xs" c="dimmed" fw={600} px="md" pt="sm" pb={4} aria-hidden>
      {t(`palette.groups.${id}`)}
    </Text>
  );
}

/** Scrolls the given option into view. @returns the ref for the list */
function useScrolledIntoView(optionId: string): RefObject<HTMLDivElement | null> {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector(`[id="${optionId}"]`)?.scrollIntoView({ block: 'nearest' });
  });
  return list;
}

/** One result in the palette. */
interface CommandPaletteItem {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly open: () => void;
}
/** Results of one kind. */
interface CommandPaletteGroup {
  readonly id: keyof typeof keyboardStrings.palette.groups;
  readonly items: readonly CommandPaletteItem[];
}

type ActionId = keyof typeof keyboardStrings.palette.actions;
const ACTIONS: readonly (readonly [ActionId, NavigateOptions['to'], hash?: string])[] = [
  ['video', '/studio'],
  ['key', '/account/tokens', CREATE_HASH],
  ['ticket', '/tickets/new'],
  ['redeem', '/packages'],
  ['password', '/account/security'],
  ['twoStep', '/account/security'],
];
const ADMIN_ACTIONS: typeof ACTIONS = [
  ['channel', '/admin/channels/new'],
  ['model', '/admin/models/new'],
  ['user', '/admin/users', CREATE_HASH],
  ['announce', '/admin/announcements', CREATE_HASH],
];

const MAX_ITEMS = 6;
/** Minimum length of a search sent to the service; shorter ones match nearly everything. */
const MIN_SEARCH = 2;
const DEBOUNCE_MS = 200;
/** A task id, as copied from a log or a message. */
const TASK_ID = /^(?:task|video)_[\w-]+$/;

/** Search results from the service, requested once typing pauses. */
function usePaletteData(search: string, admin: boolean) {
  const [debounced] = useDebouncedValue(search.trim(), DEBOUNCE_MS);
  const isSearch = debounced.length >= MIN_SEARCH;
  const isTaskId = TASK_ID.test(debounced);
  const shared = { placeholderData: keepPreviousData, staleTime: 30_000 };
  const { data = [] } = useQuery(usableModelsQuery);
  const models = data.filter(({ kind, permitted }) => kind === 'video' && permitted);
  const keys = useQuery({ ...apiKeysQuery(1), ...shared });
  const videos = useQuery({ ...videosQuery(1, MAX_ITEMS, { q: debounced }), ...shared, enabled: isSearch });
  const size = { page_size: String(MAX_ITEMS) };
  const users = useQuery({
    ...listQuery(adminListUsers, { ...size, q: debounced }),
    ...shared,
    enabled: isSearch && admin,
  });
  const channels = useQuery({ ...listQuery(listChannels, { page_size: '50' }), ...shared, enabled: admin });
  const tasks = useQuery({
    ...listQuery(listTasks, { ...size, task_id: debounced }),
    ...shared,
    enabled: admin && isTaskId,
  });
  return { isSearch, isTaskId, models, keys, videos, users, channels, tasks };
}

/** Results by kind: pages and actions immediately, the service's results a moment later. */
function useCommandPaletteItems(search: string): readonly CommandPaletteGroup[] {
  const { t } = useTranslation(['keyboard', 'app']);
  const navigate = useNavigate();
  const role = useSelf().data?.role;
  const admin = isAdmin(role);
  const { isSearch, isTaskId, models, keys, videos, users, channels, tasks } = usePaletteData(search, admin);
  const titleOf = useModelTitle();
  const matching = (items: readonly CommandPaletteItem[]): readonly CommandPaletteItem[] =>
    items.filter(({ label, hint = '' }) => matchesWords(`${label} ${hint}`, search)).slice(0, MAX_ITEMS);
  const item = (id: string, label: string, target: NavigateOptions, hint?: string): CommandPaletteItem => ({
    id,
    label,
    hint,
    open: () => void navigate(target),
  });
  const sections = admin ? [...USER_SECTIONS, ...ADMIN_SECTIONS, ...OTHER_ADMIN_SECTIONS] : USER_SECTIONS;
  const pages = sections.flatMap(({ title, items }) =>
    items
      .filter(({ rootOnly }) => rootOnly !== true || role === 'root')
      .map(({ to, label }) => item(to, t(`app:pages.${label}`), { to }, t(`app:sections.${title}`))),
  );
  const actions = [...ACTIONS, ...(admin ? ADMIN_ACTIONS : [])].map(([id, to, hash]) =>
    item(id, t(`palette.actions.${id}`), { to, hash } as NavigateOptions),
  );
  const settings = useSettingItems();
  const guide = { id: 'docs', label: t('app:pages.apiGuide'), open: () => window.location.assign('/docs') };
  const groups: readonly CommandPaletteGroup[] = [
    { id: 'pages', items: matching([...pages, guide]) },
    { id: 'actions', items: matching([...actions, ...settings]) },
    {
      id: 'users',
      items: found(isSearch, users.data).map(({ id, username, display_name: name }) =>
        item(`${id}`, username, { to: '/admin/users/$id', params: { id: String(id) } }, name),
      ),
    },
    {
      id: 'channels',
      items: isSearch
        ? matching(
            (channels.data?.data ?? []).map(({ id, name, vendor }) =>
              item(`${id}`, name, { to: '/admin/channels/$id', params: { id: String(id) } }, vendor),
            ),
          )
        : [],
    },
    {
      id: 'tasks',
      items: found(isTaskId, tasks.data).map(({ task_id: id, model }) =>
        item(id, id, { to: '/admin/tasks/$id', params: { id } }, titleOf(model)),
      ),
    },
    {
      id: 'videos',
      items: found(isSearch, videos.data).map(({ task_id: taskId, prompt, model }) =>
        item(taskId, prompt === '' ? taskId : prompt, { to: '/videos/$taskId', params: { taskId } }, titleOf(model)),
      ),
    },
    {
      id: 'models',
      items: isSearch
        ? matching(
            models.map(({ id, vendor_title: vendor }) =>
              item(id, titleOf(id), { to: '/studio', search: { model: id } }, `${vendor} · ${id}`),
            ),
          )
        : [],
    },
    {
      id: 'keys',
      items: isSearch
        ? matching(
            (keys.data?.data ?? []).map(({ id, name, key_hint: hint }) =>
              item(`${id}`, name, { to: '/account/tokens/$id', params: { id: String(id) } }, hint),
            ),
          )
        : [],
    },
  ];
  return groups.filter(({ items }) => items.length > 0);
}

/** Colour scheme, language and sign-out, as in the menus of the header. */
function useSettingItems(): readonly CommandPaletteItem[] {
  const { t } = useTranslation('app');
  const { setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
  return [
    ...(['light', 'dark', 'auto'] as const).map((scheme) => ({
      id: scheme,
      label: t(`colorScheme.${scheme}`),
      hint: t('appearance'),
      open: () => setColorScheme(scheme),
    })),
    ...(Object.keys(LANGUAGES) as Language[]).map((language) => ({
      id: language,
      label: LANGUAGES[language],
      hint: t('language'),
      open: () => void switchLanguage(language),
    })),
    { id: 'sign-out', label: t('signOut'), open: () => void signOut() },
  ];
}

const found = <Row,>(isAsked: boolean, list: { readonly data: readonly Row[] } | undefined): readonly Row[] =>
  isAsked ? (list?.data ?? []) : [];

/** Whether the text contains every word of the search, regardless of case and order. */
function matchesWords(text: string, search: string): boolean {
  const lower = text.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
