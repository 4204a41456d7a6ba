export const sites = {
  'sites.about':
    'Networks with names. A call is of a site if one of its addresses was in a network that had that name when the call began; searches find it as site:NAME. When a network moves to another site, give the old entry an end and add a new one: history stays right.',
  'sites.none': 'No network has a name yet.',
  'sites.name': 'Name',
  'sites.networks': 'Networks',
  'sites.from': 'From',
  'sites.until': 'Until (not included)',
  'sites.always': 'always',
  'sites.open': 'open',
  'sites.add': 'Add a site',
  'sites.save': 'Save',
  'sites.cancel': 'Cancel',
  'sites.change': 'Change',
  'sites.change_of': 'Change {name}',
  'sites.file': 'They are stored in {file}.',
  'sites.who': 'Whoever has the right “change rules” gives networks names here.',
};
