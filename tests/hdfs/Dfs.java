// A real HDFS in one process, namenode and datanode: Dfs.java HOST PORT HTTP_PORT DIRECTORY

import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

public class Dfs {
  public static void main(String[] given) throws Exception {
    String host = given[0];
    String at = "file://" + new File(given[3]).getAbsolutePath();
    Configuration settings = new Configuration();
    settings.set("fs.defaultFS", "hdfs://" + host + ":" + given[1]);
    settings.set("dfs.namenode.http-address", host + ":" + given[2]);
    settings.set("dfs.namenode.name.dir", at + "/name");
    settings.set("dfs.datanode.data.dir", at + "/data");
    settings.set("dfs.datanode.address", host + ":0");
    settings.set("dfs.datanode.http.address", host + ":0");
    settings.set("dfs.datanode.ipc.address", host + ":0");
    settings.set("dfs.datanode.hostname", host);
    settings.set("dfs.replication", "1");
    settings.set("dfs.permissions.enabled", "false");
    settings.set("dfs.namenode.datanode.registration.ip-hostname-check", "false");
    settings.set("dfs.namenode.safemode.extension", "0");
    DefaultMetricsSystem.setMiniClusterMode(true); // formatting registers what the namenode does
    if (!new File(given[3], "name").isDirectory()) {
      NameNode.format(settings);
    }
    NameNode namenode = NameNode.createNameNode(new String[0], settings);
    DataNode.createDataNode(new String[0], settings);
    while (namenode.isInSafeMode() || namenode.getNamesystem().getNumLiveDataNodes() == 0) {
      Thread.sleep(100);
    }
    System.out.println("HDFS serves");
    namenode.join();
  }
}
