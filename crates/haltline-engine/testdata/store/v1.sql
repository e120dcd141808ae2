-- A store of schema 1 as haltline 0.1.0 wrote it: two projects, circuits in every state, an override, a retired
-- circuit, trust, an anchor over three folded facts, a purged text, messages that wait. It is read for ever: never
-- edit this file; a new schema gets a file of its own.
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE anchor (
    project INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (project, name)
) WITHOUT ROWID;
INSERT INTO "anchor" VALUES(1560971294057250462,'constraint/no-secrets','{"constraint":{"rule":{"limits":{"violation_threshold":3,"window_days":30,"cooldown_hours":24,"dedup_seconds":0}},"source":{"path":"docs/constraints/no-secrets.md","digest":"as-written"},"phase":"closed","generation":0,"counted":[[1764547200000],[1764547200000]],"totals":{"violations":2,"counted":2,"deduplicated":0,"while_open":0,"passes":0,"refused":0,"trips":0,"overrides":0},"first":1764547200000}}');
CREATE TABLE circuit (
    project INTEGER NOT NULL,
    name TEXT NOT NULL,
    last INTEGER NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (project, name)
) WITHOUT ROWID;
INSERT INTO "circuit" VALUES(1016512027754308337,'constraint/force-push',8,'{"constraint":{"rule":{"limits":{"violation_threshold":3,"window_days":30,"cooldown_hours":24,"dedup_seconds":0}},"source":{"path":"docs/constraints/force-push.md","digest":"as-written"},"phase":{"open":{"incident":"544f146a","since":[1770980400000,7,91000000],"cooldown_ms":86400000,"count":3}},"generation":3,"counted":[[1770890460000,7,1060000],[1770890520000,7,1120000],[1770980400000,7,91000000]],"totals":{"violations":4,"counted":4,"deduplicated":0,"while_open":0,"passes":0,"refused":0,"trips":2,"overrides":0},"first":1770890400000,"last_trip":1770980400000,"trips":[{"tripped":1770890520000},{"tripped":1770980400000}]}}');
INSERT INTO "circuit" VALUES(1560971294057250462,'constraint/force-push',11,'{"constraint":{"rule":{"limits":{"violation_threshold":3,"window_days":30,"cooldown_hours":24,"dedup_seconds":0}},"source":{"path":"docs/constraints/force-push.md","digest":"as-written"},"phase":{"open":{"incident":"737dcd85","since":[1770890520000,7,1120000],"cooldown_ms":86400000,"count":3}},"generation":1,"counted":[[1770890400000,7,1000000],[1770890460000,7,1060000],[1770890520000,7,1120000]],"totals":{"violations":4,"counted":3,"deduplicated":0,"while_open":1,"passes":0,"refused":1,"trips":1,"overrides":0},"first":1770890400000,"last_trip":1770890520000,"trips":[{"tripped":1770890520000}],"granted":{"since":[1770890700000,7,1300000],"lifetime_ms":3600000,"who":"ana"}}}');
INSERT INTO "circuit" VALUES(1560971294057250462,'constraint/gone',15,'{"constraint":{"rule":{"limits":{"violation_threshold":3,"window_days":30,"cooldown_hours":24,"dedup_seconds":0}},"source":{"path":"docs/constraints/gone.md","digest":"as-written"},"phase":{"retired":{"at":1770890880000,"from":"CLOSED"}},"generation":1,"counted":[[1770890820000,7,1420000]],"totals":{"violations":1,"counted":1,"deduplicated":0,"while_open":0,"passes":0,"refused":0,"trips":0,"overrides":0},"first":1770890820000}}');
INSERT INTO "circuit" VALUES(1560971294057250462,'constraint/no-secrets',12,'{"constraint":{"rule":{"limits":{"violation_threshold":3,"window_days":30,"cooldown_hours":24,"dedup_seconds":0}},"source":{"path":"docs/constraints/no-secrets.md","digest":"as-written"},"phase":"closed","generation":0,"counted":[[1764547200000],[1764547200000],[1770890760000,7,1360000]],"totals":{"violations":3,"counted":3,"deduplicated":0,"while_open":0,"passes":0,"refused":0,"trips":0,"overrides":0},"first":1764547200000}}');
INSERT INTO "circuit" VALUES(1560971294057250462,'trust/project-file',16,'{"trust":{"digest":"abc"}}');
CREATE TABLE fact (
    project INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    texts TEXT,
    texts_digest BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (project, seq)
) WITHOUT ROWID;
INSERT INTO "fact" VALUES(1016512027754308337,1,0,'constraint/force-push','{"at":[1770890400000,7,1000000],"cause":"violation","policy":"policy","fact":{"constraint":{"rule_set":{"rule":{"limits":{"violation_threshold":3,"window_days":30,"cooldown_hours":24,"dedup_seconds":0}},"source":{"path":"docs/constraints/force-push.md","digest":"as-written"}}}}}','{}',X'7CF4B3EA3B7FB829169AF19D641905EB04C1A23D6057CBE10A975BA5BCFAA21E',X'57B25ADC5E0D4637239CC0BA3EA18A06495EF48B425D3FB60094DECB44CC97A6');
INSERT INTO "fact" VALUES(1016512027754308337,2,1,'constraint/force-push','{"at":[1770890400000,7,1000000],"cause":"violation","policy":"policy","fact":{"constraint":{"violated":{"weight":"counted","fingerprint":"632ff0a3229547d9"}}}}','{"session":"s3","text":"git push --force"}',X'EA40DBBDDB9C86CA37D6CA079C40A008CE727EF0AC7D8035117C2D3F21BE670B',X'729F482FAEDB5F45FBA32EE3AAD9EC02F4E40EAC07FF4C856DB37BB200D6AD47');
INSERT INTO "fact" VALUES(1016512027754308337,3,2,'constraint/force-push','{"at":[1770890460000,7,1060000],"cause":"violation","policy":"policy","fact":{"constraint":{"violated":{"weight":"counted","fingerprint":"197d95c3f719ceca"}}}}','{"session":"s3","text":"git push --force"}',X'EA40DBBDDB9C86CA37D6CA079C40A008CE727EF0AC7D8035117C2D3F21BE670B',X'88D0ED8E36164AC0657D09BD8B6F9533623168101646BFD5E8588A1E050DBD7D');
INSERT INTO "fact" VALUES(1016512027754308337,4,3,'constraint/force-push','{"at":[1770890520000,7,1120000],"cause":"violation","policy":"policy","fact":{"constraint":{"violated":{"weight":"counted","fingerprint":"04fd3cecdd90b3d3"}}}}','{"session":"s3","text":"git push --force"}',X'EA40DBBDDB9C86CA37D6CA079C40A008CE727EF0AC7D8035117C2D3F21BE670B',X'5F6AACAE463F485101917E3456041EB3B3E3448F07F9124AD695B1AA90DF35BE');
INSERT INTO "fact" VALUES(1016512027754308337,5,4,'constraint/force-push','{"at":[1770890520000,7,1120000],"cause":"violation","policy":"policy","fact":{"constraint":{"tripped":{"trip":{"incident":"737dcd85","since":[1770890520000,7,1120000],"cooldown_ms":86400000,"count":3}}}}}','{}',X'7CF4B3EA3B7FB829169AF19D641905EB04C1A23D6057CBE10A975BA5BCFAA21E',X'F911232338DD29B2957E7CB42A0C49F9895847C46406C8D258E387417C5E04CA');
INSERT INTO "fact" VALUES(1016512027754308337,6,5,'constraint/force-push','{"at":[1770976920000,7,87520000],"cause":"violation","policy":"policy","fact":{"constraint":"half_opened"}}','{}',X'7CF4B3EA3B7FB829169AF19D641905EB04C1A23D6057CBE10A975BA5BCFAA21E',X'1C897175162D616DEA6BF23EE4BB4C174CCA0A5D7FA27B54B2EE897AD0B18D0B');
INSERT INTO "fact" VALUES(1016512027754308337,7,6,'constraint/force-push','{"at":[1770980400000,7,91000000],"cause":"violation","policy":"policy","fact":{"constraint":{"violated":{"weight":"counted","fingerprint":"a4ad10f0b848201d"}}}}','{"session":"s3","text":"git push"}',X'38732508055A855062FA446D508120DBEE3C8B344A415C1203D7E98989412C92',X'F01B66CB1A8EB54B8C01BFD34CE0BC39556562202CCC5C183436F1B065DB4A0F');
INSERT INTO "fact" VALUES(1016512027754308337,8,7,'constraint/force-push','{"at":[1770980400000,7,91000000],"cause":"violation","policy":"policy","fact":{"constraint":{"tripped":{"trip":{"incident":"544f146a","since":[1770980400000,7,91000000],"cooldown_ms":86400000,"count":3}}}}}','{}',X'7CF4B3EA3B7FB829169AF19D641905EB04C1A23D6057CBE10A975BA5BCFAA21E',X'C6F715F6CC6098B9CA3EE6D912B2DA2DB1EDC6D26C1EEDDC3FEF898305E2740B');
INSERT INTO "fact" VALUES(1560971294057250462,4,0,'constraint/force-push','{"at":[1770890400000,7,1000000],"cause":"violation","policy":"policy","fact":{"constraint":{"rule_set":{"rule":{"limits":{"violation_threshold":3,"window_days":30,"cooldown_hours":24,"dedup_seconds":0}},"source":{"path":"docs/constraints/force-push.md","digest":"as-written"}}}}}','{}',X'7CF4B3EA3B7FB829169AF19D641905EB04C1A23D6057CBE10A975BA5BCFAA21E',X'C4D285C5C0EED51170D75A17563C6F06AE8B29C4C9939ACC78CAA102AE4EAEB8');
INSERT INTO "fact" VALUES(1560971294057250462,5,4,'constraint/force-push','{"at":[1770890400000,7,1000000],"cause":"violation","policy":"policy","fact":{"constraint":{"violated":{"weight":"counted","fingerprint":"a4c8f2f61fd551c1"}}}}','{"session":"s1","text":"git push --force"}',X'1360919A6C51B8DC24EB6C33A6E68DD66A4A849A84874CF4847A8D5DFC7C034F',X'19F134D930E0181C94010A835971EC8FB0EE50B71526CBDA37A1CB43B3E8B2B4');
INSERT INTO "fact" VALUES(1560971294057250462,6,5,'constraint/force-push','{"at":[1770890460000,7,1060000],"cause":"violation","policy":"policy","fact":{"constraint":{"violated":{"weight":"counted","fingerprint":"645661e3c674e513"}}}}','{"session":"s1","text":"git push --force"}',X'1360919A6C51B8DC24EB6C33A6E68DD66A4A849A84874CF4847A8D5DFC7C034F',X'40B5D75EDDD9F14F9734BA7D1FAF5E7373878BD85F2596C3AC222A0931DF5CCE');
INSERT INTO "fact" VALUES(1560971294057250462,7,6,'constraint/force-push','{"at":[1770890520000,7,1120000],"cause":"violation","policy":"policy","fact":{"constraint":{"violated":{"weight":"counted","fingerprint":"7bb8acae0e8733be"}}}}','{"session":"s1","text":"git push --force"}',X'1360919A6C51B8DC24EB6C33A6E68DD66A4A849A84874CF4847A8D5DFC7C034F',X'390000F40C57E7CFC03D859592C940F76485D2D0B887E79BAFB7FB2BF3221635');
INSERT INTO "fact" VALUES(1560971294057250462,8,7,'constraint/force-push','{"at":[1770890520000,7,1120000],"cause":"violation","policy":"policy","fact":{"constraint":{"tripped":{"trip":{"incident":"737dcd85","since":[1770890520000,7,1120000],"cooldown_ms":86400000,"count":3}}}}}','{}',X'7CF4B3EA3B7FB829169AF19D641905EB04C1A23D6057CBE10A975BA5BCFAA21E',X'169FC4495F05D73BB52D8A7B5E0C71B1A77D8C768610F66BF0C89D7E3A952DD1');
INSERT INTO "fact" VALUES(1560971294057250462,9,8,'constraint/force-push','{"at":[1770890640000,7,1240000],"cause":"enforce","policy":"policy","fact":{"constraint":{"violated":{"weight":"while_open","fingerprint":"5d10fb4deb37eca2"}}}}','{"session":"s1","text":"git push -f"}',X'90A0010F60A139AE524CC9ED0CEDE33E58A796336D51ED8D935DBC3DACEE8C90',X'A866B9358CDAEBF0921E97FBB4B7796C9ACF32C3DE18D2BC622AE62E6EFB9AE5');
INSERT INTO "fact" VALUES(1560971294057250462,10,9,'constraint/force-push','{"at":[1770890640000,7,1240000],"cause":"enforce","policy":"policy","fact":{"constraint":"refused"}}','{"session":"s1","text":"git push -f"}',X'90A0010F60A139AE524CC9ED0CEDE33E58A796336D51ED8D935DBC3DACEE8C90',X'752838E3B54A2D81A639056AA76ECCEF288D31F9980119BC8DBECEF3A5F0875C');
INSERT INTO "fact" VALUES(1560971294057250462,11,10,'constraint/force-push','{"at":[1770890700000,7,1300000],"cause":"override","policy":"policy","fact":{"constraint":{"override_granted":{"granted":{"since":[1770890700000,7,1300000],"lifetime_ms":3600000,"who":"ana"}}}}}','{"session":"s1","text":"looked into it"}',X'983CA3F8CBDC4372ED86C8F7E3B76C63E51B5E8A099C364AFD0F971C803D5179',X'9ED1C791520F6D6459E37DA47747F387ADC5A99082F03EB20DF140E903DDFA8B');
INSERT INTO "fact" VALUES(1560971294057250462,12,3,'constraint/no-secrets','{"at":[1770890760000,7,1360000],"cause":"violation","policy":"policy","fact":{"constraint":{"violated":{"weight":"counted","fingerprint":"0ec2561064e3fe7d"}}}}',NULL,X'A1C381E39E4D6F8E77DD80063959AF6549A55A373972E8F008CD6186DB179909',X'F9BC8236DE672843AF324C66F87E2DB630706B22771C14901E7376FCA9A92E07');
INSERT INTO "fact" VALUES(1560971294057250462,13,0,'constraint/gone','{"at":[1770890820000,7,1420000],"cause":"violation","policy":"policy","fact":{"constraint":{"rule_set":{"rule":{"limits":{"violation_threshold":3,"window_days":30,"cooldown_hours":24,"dedup_seconds":0}},"source":{"path":"docs/constraints/gone.md","digest":"as-written"}}}}}','{}',X'7CF4B3EA3B7FB829169AF19D641905EB04C1A23D6057CBE10A975BA5BCFAA21E',X'8B188DFAC42CD2BBF2B22D10C9ACBDBA7D11C623F1E32FE6F5CD6F3C4C98BC49');
INSERT INTO "fact" VALUES(1560971294057250462,14,13,'constraint/gone','{"at":[1770890820000,7,1420000],"cause":"violation","policy":"policy","fact":{"constraint":{"violated":{"weight":"counted","fingerprint":"aaa0bf71b7e2062d"}}}}','{"session":"s1","text":"x"}',X'903B353986039E98CA173F04D0EBD40C65EAFC68891147ABD59C832D7E94CE3C',X'7C22B4FA221E9B76ED7923764C52E60CC78AF45FB269763BCB9D6F0038E9FBBA');
INSERT INTO "fact" VALUES(1560971294057250462,15,14,'constraint/gone','{"at":[1770890880000,7,1480000],"cause":"retire","policy":"policy","fact":{"constraint":{"retired":{"who":"ana","created":null}}}}','{"session":"s1","text":"looked into it"}',X'983CA3F8CBDC4372ED86C8F7E3B76C63E51B5E8A099C364AFD0F971C803D5179',X'7FBDCF5AD58D0045F83CC740550889877C226230DBFAC9507C4E6CFA451CF538');
INSERT INTO "fact" VALUES(1560971294057250462,16,0,'trust/project-file','{"at":[1770890940000,7,1540000],"cause":"trust","policy":"policy","fact":{"trust":{"trusted":{"digest":"abc","who":"ana"}}}}','{"text":"looked into it"}',X'AED465A0586D044BDA5B1D2DFF85D591253A7256F2427CDAC046C85713353EF1',X'D2BE8C229D4D951E355C743651706ACB9F27B501B894564AE1BE46B01B4E10EC');
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    name TEXT NOT NULL,
    incident TEXT NOT NULL,
    attempts INTEGER NOT NULL
);
INSERT INTO "outbox" VALUES(1,1560971294057250462,'constraint/force-push','737dcd85',0);
INSERT INTO "outbox" VALUES(2,1016512027754308337,'constraint/force-push','737dcd85',0);
INSERT INTO "outbox" VALUES(3,1016512027754308337,'constraint/force-push','544f146a',0);
CREATE TABLE project (
    id INTEGER PRIMARY KEY,
    identity BLOB NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    anchor_seq INTEGER NOT NULL,
    anchor_hash BLOB NOT NULL,
    oldest_seq INTEGER NOT NULL
);
INSERT INTO "project" VALUES(1016512027754308337,X'2F70726F6A656374732F656C736577686572652F2E676974',8,X'C6F715F6CC6098B9CA3EE6D912B2DA2DB1EDC6D26C1EEDDC3FEF898305E2740B',0,X'0000000000000000000000000000000000000000000000000000000000000000',1);
INSERT INTO "project" VALUES(1560971294057250462,X'2F70726F6A656374732F6D61696E2F2E676974',16,X'D2BE8C229D4D951E355C743651706ACB9F27B501B894564AE1BE46B01B4E10EC',3,X'72B9E4555735BCC73D0870A14A254EDB2BBB782F19D04F744881BC0A9DAB6A25',4);
COMMIT;
