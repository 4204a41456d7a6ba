// Every page of the console, with an address that shows something of what the tests record.
const TABS = ['ladder', 'media', 'listen', 'messages', 'packets', 'history'];

/** Pages and what an administrator finds on them. `needs`: the right without which nothing is to be seen. */
export async function pagesOf(console) {
  const one = (await console.json('engineer', '/calls?q=codec:G729+began:-3h+mos<3.5&limit=1')).calls[0];
  const user = (await console.json('engineer', '/users')).users.find((user) => /^\+/.test(user.aor));
  return [
    page('now', '/', 'Now'),
    page('calls', '/calls', null),
    page('calls-searched', '/calls?q=state:failed&cols=began,from,to,state,notes,callid', null),
    page('calls-why', '/calls?q=note:loss+began:-3h&why=1', null, 'numbers'),
    ...TABS.map((tab) => page(`call-${tab}`, `/calls/${one.id}${tab === 'ladder' ? '?message=1' : `?tab=${tab}`}`, null)),
    page('problems', '/problems', 'Problems'),
    page('alarms', '/alarms', 'Alarms'),
    page('quality', '/quality', 'Quality'),
    page('quality-compared', '/quality?by=codec&before=week&span=7d', 'Quality'),
    page('trunks', '/trunks', 'Trunks'),
    page('trunk', '/trunks/carrier-a', 'carrier-a'),
    page('users', '/users', 'Users'),
    page('user', `/users/${encodeURIComponent(user.aor)}`, null),
    page('sites', '/sites', 'Sites'),
    page('retention', '/retention', 'Retention'),
    page('retention-rules', '/retention?edit=rules', 'Retention'),
    page('sensors', '/sensors', 'Sensors'),
    page('audit', '/audit', 'Audit', 'audit'),
    page('admin', '/admin', 'Admin', 'administer'),
    page('admin-about', '/admin?tab=about', 'Admin'),
    page('account', '/account', 'Account'),
    page('nothing', '/nothing/here', null),
  ];
}

function page(name, path, heading, needs = null) {
  return { name, path, heading, needs };
}
